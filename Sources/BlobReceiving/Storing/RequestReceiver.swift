import BlobCore
import CryptoDigest

/// Receives the body of one request, a raw body or a form, computes the digest of each part while it arrives, and stores
/// it if a folder is given.
///
/// Parts are reported and named only after the whole body has arrived.
final class RequestReceiver: BodyReceiver {
    /// The number of parts that are synchronised individually. Any other parts of a request are synchronised together,
    /// along with all pending writes of the file system.
    private static let maximumSingleCount = 16

    private let path: String
    private let folder: String?
    private let storedFiles: StoredFiles?
    private let fileSystem: FileSystem?
    private let maximumByteCount: Int64
    private var parser: MultipartParser?
    private var openPart: OpenPart?
    private var finishedParts: [OpenPart] = []
    private var byteCount: Int64 = 0
    private var check: ContentCheck

    private struct OpenPart {
        var part: ReceivedPart
        var hasher: any BlobHasher
        let file: ReceivedFile?
    }

    /// - Parameters:
    ///   - head: The head of the request. The last component of its path is the name of a raw body, which must match
    ///     the digests in the header fields.
    ///   - folder: The folder for files; nil to compute digests only.
    ///   - maximumByteCount: The maximum length of the whole body; nil for no limit.
    ///   - storedFiles: The files for HEAD requests. A raw body is added once it is stored.
    /// - Throws: ``BlobError/Code/corrupted`` or ``BlobError/Code/invalidArgument`` for a form without a valid
    ///   boundary; ``BlobError/Code/io`` or a similar error if the folder cannot be opened or the file cannot be
    ///   created.
    init(
        _ head: RequestHead, folder: String?, maximumByteCount: Int64? = nil, storedFiles: StoredFiles? = nil
    ) throws(BlobError) {
        self.check = ContentCheck(RequestDigests(head.fields).all)
        let contentType = head.values(of: "content-type").first
        (self.path, self.folder, self.storedFiles) = (head.target, folder, storedFiles)
        self.maximumByteCount = maximumByteCount ?? .max
        self.fileSystem = try folder.map { folder throws(BlobError) in try FileSystem(of: folder) }
        if let contentType, let boundary = try MultipartHeader.boundary(of: contentType) {
            self.parser = try MultipartParser(boundary: boundary)
        } else {
            let name = Self.name(in: head.target)
            let text = String(decoding: name, as: UTF8.self)
            try self.begin(
                ReceivedPart(name: text, mediaType: contentType, byteCount: 0, sha256: ""), storingAs: name)
        }
    }

    /// Returns the name of a raw body from the request's path: the last component, or `upload`.
    static func name(in path: String) -> [UInt8] {
        let component = path.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? ""
        let name = PercentEncoding.decode(component.utf8) ?? Array(component.utf8)
        return name.isEmpty ? Array("upload".utf8) : name
    }

    deinit { self.abandon() }

    /// Receives the next bytes of the body.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` if the body is too long; the errors of the form and of the disk.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        self.byteCount += Int64(bytes.count)
        guard self.byteCount <= self.maximumByteCount else {
            throw BlobError(.limitExceeded, "The body has more bytes than the limit of \(self.maximumByteCount).")
        }
        self.check.update(bytes)
        try BlobError.wrapping {
            guard self.parser != nil else { return try self.add(bytes) }
            try self.parser?.parse(bytes) { event in
                switch event {
                case .begin(let header): try self.begin(header)
                case .bytes(let bytes): try self.add(bytes)
                case .end: try self.end()
                }
            }
        }
    }

    /// Returns the response with the parts in order, after naming their files.
    ///
    /// - Throws: A refusal with 400 if the body does not match the announced digests; the errors of the form and of the
    ///   disk.
    func answer() throws(BlobError) -> RequestAnswer {
        try self.check.finish()
        if let parser { try parser.finish() } else { try self.end() }
        if self.finishedParts.count > Self.maximumSingleCount { try self.fileSystem?.synchronize() }
        for index in self.finishedParts.indices {
            self.finishedParts[index].part.file = try self.finishedParts[index].file?.commit()
        }
        try self.fileSystem?.synchronizeFolder()
        let finished = self.finishedParts
        self.finishedParts = []
        for part in finished { part.file?.discard() }
        if self.parser == nil, let part = finished.first?.part { self.storedFiles?.add(part, at: self.path) }
        return RequestAnswer(status: 201, parts: finished.map(\.part))
    }

    /// Discards an incomplete body and its files. A second call has no effect.
    func abandon() {
        self.openPart?.file?.discard()
        for part in self.finishedParts { part.file?.discard(keepingCommitted: false) }
        (self.openPart, self.finishedParts) = (nil, [])
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
            try ReceivedFile(in: folder, name: SafeFileName.fileName(from: name))
        }
        self.openPart = OpenPart(part: part, hasher: CryptoDigest.sha256.makeHasher(), file: file)
    }

    private func add(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        self.openPart?.hasher.update(bytes)
        self.openPart?.part.byteCount += Int64(bytes.count)
        try self.openPart?.file?.write(bytes)
    }

    private func end() throws(BlobError) {
        guard var open = self.openPart else { return }
        let isSingle = self.finishedParts.count < Self.maximumSingleCount || !FileSystem.canSynchronize
        try open.file?.finish(synchronizing: isSingle)
        open.part.sha256 = open.hasher.finalizeHexadecimal()
        self.openPart = nil
        self.finishedParts.append(open)
    }
}
