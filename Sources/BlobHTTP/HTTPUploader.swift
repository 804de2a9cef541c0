import BlobStreams
import Foundation

/// Sends sources to web servers.
///
/// One upload at a time for each thread that calls; the thread waits in the event loop of its request, while a thread
/// of the pool reads the source. A request has a connection of its own and is made once: nothing is followed, and
/// nothing is sent again.
package struct HTTPUploader: Sendable {
    /// How long a reader may take to close after the upload is over.
    private static let closingPatience = Duration.milliseconds(500)

    /// Loads libcurl, the first time.
    ///
    /// - Throws: ``BlobError/Code/unavailable``.
    package init() throws(BlobError) { try CurlLibrary.load() }

    /// Sends a source as the body of a request; returns when the server has taken it all and said so.
    ///
    /// The connection is made once the source has given its first bytes. Whatever goes wrong after that, the server
    /// never gets a body that looks whole and is not.
    ///
    /// A success whose first byte came while bytes were unsent or unacknowledged is an error, and so is one that a reset
    /// of the connection follows. To see that, the connection is half-closed, and the server has 250 ms to end it too;
    /// behind TLS this is left out when the server said that it closes. Bytes that the server's system acknowledged and
    /// its program never reads cannot be seen otherwise: that is the server's word alone.
    ///
    /// - Parameters:
    ///   - source: Opened once, at its start.
    ///   - validator: What its content must be; nil takes any.
    ///   - context: Its idle limit is for source and connection alike.
    /// - Returns: An answer with a status of 200 to 299.
    /// - Throws: The source's own error before any other. ``BlobError/Code/refused`` for any other status, with an
    ///   ``HTTPRefusal`` as the cause; ``BlobError/Code/unavailable`` without a connection; ``BlobError/Code/io`` for
    ///   one that broke; ``BlobError/Code/truncated``, ``BlobError/Code/corrupted`` and
    ///   ``BlobError/Code/limitExceeded`` for an answer that is none; ``BlobError/Code/timedOut``, ``BlobError/Code/cancelled``. An error is transient when
    ///   making the same request again can help and cannot do the same thing twice.
    package func upload(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator? = nil, as upload: HTTPUpload,
        context: BlobContext = BlobContext()
    ) throws(BlobError) -> HTTPResponse {
        try upload.validate()
        // Its own cancellation: an upload that is over stops its reader, and not the job.
        let child = context.blocking.makeChild()
        let reader = try source.open(matching: validator, context: child)
        let signal = WaitSignal()
        let handle: CurlHandle
        do {
            handle = try CurlHandle()
        } catch {
            reader.close()
            throw error
        }
        let pump = BodyPump(reader, isChunked: upload.isChunked) {
            signal.signal()
            handle.wake()
        }
        defer {
            child.cancellation.cancel()
            pump.stop(patience: Self.closingPatience)
        }
        pump.start()
        // The source has the same limits, and its own error says more.
        var waiting = context
        waiting.idleLimit = context.idleLimit.map { $0 + .seconds(1) }
        try waiting.wait(on: signal) { pump.hasNews() ? () : nil }
        // A body of no bytes is whole once it is announced, so this is the last moment to say no.
        if let failure = pump.failure { throw failure }
        return try UploadTransfer(upload, pump, handle, pump.sourceInfo, context).run()
    }
}
