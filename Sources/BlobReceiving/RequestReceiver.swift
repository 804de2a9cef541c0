import BlobStreams
import CryptoDigest
import Foundation

/// The body of one request: hashed, and stored if there is a folder, while it arrives.
///
/// All or nothing: what it holds is reported and named only when the whole body was there.
package final class RequestReceiver {
    /// So many parts are put on the disk one by one; all others of a request together, with whatever else the file
    /// system has to write.
    private static let maximumSingleCount = 16

    private let folder: String?
    private var fileSystem: FileSystem?  // Of parts that are not on the disk yet.
    private let maximumByteCount: Int64
    private var parser: MultipartParser?
    private var open: OpenPart?
    private var finished: [FinishedPart] = []
    private var byteCount: Int64 = 0

    private struct FinishedPart {
        var part: ReceivedPart
        let file: PartFile?
    }

    private struct OpenPart {
        var part: ReceivedPart
        var hasher: any BlobHasher
        let file: PartFile?
    }

    /// - Parameters:
    ///   - path: Of the request, with its query; its last component is the name of a raw body.
    ///   - contentType: The field, if it was sent.
    ///   - folder: Where files go; nil only hashes.
    ///   - maximumByteCount: Of the whole body; nil is no limit.
    /// - Throws: ``BlobError/Code/corrupted`` or ``BlobError/Code/invalidArgument`` for a form without a boundary;
    ///   ``BlobError/Code/io`` and its like when there can be no file.
    package init(path: String, contentType: String?, folder: String?, maximumByteCount: Int64?) throws(BlobError) {
        self.folder = folder
        self.maximumByteCount = maximumByteCount ?? .max
        if let contentType, let boundary = try MultipartHeader.boundary(of: contentType) {
            self.parser = try MultipartParser(boundary: boundary)
        } else {
            let component = path.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? ""
            let name = PercentEncoding.decode(component.utf8) ?? Array(component.utf8)
            let text = name.isEmpty ? "upload" : String(decoding: name, as: UTF8.self)
            try self.begin(
                ReceivedPart(name: text, mediaType: contentType, byteCount: 0, sha256: ""), storingAs: name)
        }
    }

    deinit { self.abandon() }

    /// - Throws: ``BlobError/Code/limitExceeded``, and what is wrong with the form or the disk.
    package func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        self.byteCount += Int64(bytes.count)
        guard self.byteCount <= self.maximumByteCount else {
            throw BlobError(.limitExceeded, "The body has more bytes than the limit of \(self.maximumByteCount).")
        }
        do {
            guard self.parser != nil else { return try self.add(bytes) }
            try self.parser?.take(bytes) { event in
                switch event {
                case .begin(let header): try self.begin(header)
                case .bytes(let bytes): try self.add(bytes)
                case .end: try self.end()
                }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// To be called only when the connection said that the body is whole.
    ///
    /// - Returns: What arrived, in order; the files have their names now.
    package func finish() throws(BlobError) -> [ReceivedPart] {
        if let parser { try parser.finish() } else { try self.end() }
        try self.fileSystem?.synchronize()
        for index in self.finished.indices {
            self.finished[index].part.file = try self.finished[index].file?.commit()
        }
        let finished = self.finished
        self.finished = []
        for part in finished { part.file?.discard() }
        return finished.map(\.part)
    }

    /// The body will not become whole: nothing of it stays. Twice is fine.
    package func abandon() {
        self.open?.file?.discard()
        for part in self.finished { part.file?.discard(keepingCommitted: false) }
        (self.open, self.finished) = (nil, [])
    }

    private func begin(_ header: MultipartHeader) throws(BlobError) {
        let part = ReceivedPart(
            name: String(decoding: header.name, as: UTF8.self),
            filename: header.filename.map { String(decoding: $0, as: UTF8.self) }, mediaType: header.mediaType,
            byteCount: 0, sha256: "")
        try self.begin(part, storingAs: header.filename ?? header.name)
    }

    private func begin(_ part: ReceivedPart, storingAs name: [UInt8]) throws(BlobError) {
        let file = try self.folder.map { folder throws(BlobError) in
            try PartFile(in: folder, name: SafeFileName.make(from: name))
        }
        self.open = OpenPart(part: part, hasher: CryptoDigest.sha256.makeHasher(), file: file)
    }

    private func add(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        self.open?.hasher.update(bytes)
        self.open?.part.byteCount += Int64(bytes.count)
        try self.open?.file?.write(bytes)
    }

    private func end() throws(BlobError) {
        guard var open = self.open else { return }
        let isSingle = self.finished.count < Self.maximumSingleCount
        if !isSingle, self.fileSystem == nil, let folder { self.fileSystem = try FileSystem(of: folder) }
        try open.file?.finish(synchronizing: isSingle || self.fileSystem?.canSynchronize == false)
        open.part.sha256 = open.hasher.finalize().hexadecimal
        self.open = nil
        self.finished.append(FinishedPart(part: open.part, file: open.file))
    }
}
