#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import BlobCore

    extension HTTPClient {
        /// Sends a source as the body of a request, and returns the answer of a server that accepted all of it.
        ///
        /// Returns when the head of the answer has arrived and the source has ended; the body of the answer may still
        /// arrive. A status of 307 or 308 is followed with the same request and a fresh body, if the source is
        /// repeatable and its content has not changed; other redirections are left to the configuration of the client.
        /// Another origin does not get the fields `Authorization`, `Cookie` and `Proxy-Authorization`, but all others.
        ///
        /// The idle limit of the context applies to the source; those of the connection are the timeouts of the
        /// client's configuration. Cancelling the task or the context ends the request and the reading.
        ///
        /// ```swift
        /// var request = HTTPClientRequest(url: "https://example.com/photos/1")
        /// request.method = .PUT
        /// let response = try await client.upload(source, as: request)
        /// ```
        ///
        /// - Parameters:
        ///   - source: The source. If it may block, threads of a pool read it ahead of the connection.
        ///   - request: The request, whose body is replaced. Without a `Content-Type`, it has the media type of the
        ///     source.
        ///   - maximumRedirectionCount: The maximum number of redirections that are followed, from 0.
        ///   - followingOtherOrigins: True to follow to other schemes, hosts and ports, but never from HTTPS to HTTP.
        ///   - context: The context of the upload.
        /// - Returns: An answer with a status of 200 to 299.
        /// - Throws: The error of the source before any other; ``BlobError/Code/refused`` for any other status, with an
        ///   ``HTTPClientRefusal`` as the cause; ``BlobError/Code/changed`` when the content changed before a
        ///   redirection; ``BlobError/Code/unavailable`` without a connection, ``BlobError/Code/io`` for a broken one;
        ///   ``BlobError/Code/corrupted`` for a malformed answer; ``BlobError/Code/invalidArgument``,
        ///   ``BlobError/Code/timedOut``, ``BlobError/Code/cancelled``. An error is transient when repeating the
        ///   request may help and cannot have its effect twice.
        public func upload(
            _ source: any BlobInputStreamDataSource, as request: HTTPClientRequest, maximumRedirectionCount: Int = 5,
            followingOtherOrigins: Bool = false, context: BlobContext = BlobContext()
        ) async throws(BlobError) -> HTTPClientResponse {
            let upload = SourceUpload(
                client: self, source: source, followsOtherOrigins: followingOtherOrigins, context: context)
            return try await upload.runEndingInTime(request, maximumRedirectionCount)
        }
    }
#endif
