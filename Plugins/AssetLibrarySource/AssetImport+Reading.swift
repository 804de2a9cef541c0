import BlobCore
import Foundation

extension AssetImport {
    /// Reads a source, and copies it unless the library has its bytes or is to refer to its file.
    ///
    /// A file that can be read again, and has the length of an original, is hashed first: of a duplicate, nothing is
    /// written.
    func member(
        _ source: any BlobInputStreamDataSource, _ name: String?, _ origin: ImportOrigin?
    ) throws -> Member {
        if let path = source.filePath {
            try self.ofSource { () throws(BlobError) in
                // Reading the catalogue and closing it would release the locks of SQLite.
                guard !self.library.contains(path: path) else {
                    throw BlobError(.invalidArgument, "A file of the library cannot be imported into it.")
                }
                try CloudPlaceholder.check(file: path)
            }
        }
        let id = UUID()
        let isReference = origin?.isReference == true
        if try isReference || self.mayBeDuplicate(source) {
            var file = try self.read(source, to: nil, name)
            let (isWhole, damagedPath) = try self.existing(file, mayBeReference: isReference)
            let isInGroup = self.group.contains { $0.offersFile && $0.file.sha256 == file.sha256 }
            guard !isWhole, !isInGroup else { return Member(id: id, file: file, origin: origin) }
            if let origin, origin.isReference {
                let reference = try self.ofSource { () throws(BlobError) in try origin.reference() }
                try self.describe(&file, reference.file.headerBytes) { () throws(BlobError) in
                    try reference.file.duplicate()
                }
                return Member(
                    id: id, file: file, reference: reference.path, damagedPath: damagedPath, origin: origin)
            }
        }
        let incoming = try IncomingFile(self.folders, id)
        defer { incoming.close() }
        try self.library.onImportStep?(.began)
        let file = try self.read(source, to: incoming, name)
        try self.library.onImportStep?(.copied)
        // Looked up again in the transaction. Here the original can be read without delaying other writers, and an
        // intact one saves waiting for the disk.
        let (isWhole, damagedPath) = try self.existing(file, mayBeReference: false)
        if !isWhole { try incoming.synchronise() }
        return Member(
            id: id, file: file, incoming: isWhole ? nil : incoming, damagedPath: damagedPath,
            origin: origin)
    }

    /// Marks errors as those of the source, which do not concern others.
    func ofSource<Value>(_ body: () throws(BlobError) -> Value) throws(BlobError) -> Value {
        do {
            return try body()
        } catch {
            var error = error
            error.operation = error.operation ?? "open"
            throw error
        }
    }

    /// Returns true when the original with these bytes is whole, or its path when it is damaged.
    ///
    /// - Parameter mayBeReference: False when a file that stays where it is is not enough: its owner may delete it.
    private func existing(_ file: ImportedFile, mayBeReference: Bool) throws -> (isWhole: Bool, damagedPath: String?) {
        let existing = try self.library.catalogue.read { db in
            try Catalogue.holder(sha256: file.sha256, db)
        }
        let isWhole =
            try existing.map { asset in
                try (mayBeReference || !asset.isReference) && self.library.hasOriginal(of: asset, file, self.context)
            } ?? false
        return (isWhole, isWhole ? nil : existing?.storedPath)
    }

    /// Returns true for a file that can be read twice, when an original has its length.
    private func mayBeDuplicate(_ source: any BlobInputStreamDataSource) throws -> Bool {
        guard source.traits.contains(.repeatable), source.filePath != nil,
            let byteCount = try source.info(self.context).byteCount
        else { return false }
        if self.group.contains(where: { $0.file.byteCount == byteCount }) { return true }
        return try self.library.catalogue.read { try Catalogue.hasOriginal(byteCount: byteCount, $0) }
    }

    /// Reads a source to its end, and writes its bytes.
    ///
    /// - Parameter incoming: The file to write to; nil to compute the digests alone.
    private func read(
        _ source: any BlobInputStreamDataSource, to incoming: IncomingFile?, _ name: String?
    ) throws -> ImportedFile {
        let reader = try source.open(context: self.context)
        defer { reader.close() }
        var hasher = BlockHasher()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var header: [UInt8] = []
        while case let count = try reader.readWaiting(into: buffer), count > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hasher.update(bytes)
            header += bytes.prefix(MediaFormat.signatureByteCount - header.count)
            try incoming?.write(bytes)
            try self.commitIfComplete()
        }
        // Texts in the catalogue end at a zero byte.
        let name = (name ?? reader.info.name)?.replacingOccurrences(of: "\0", with: "\u{FFFD}")
        let (sha256, blocks) = hasher.finalize()
        let format = MediaFormat(signature: header)
        var file = ImportedFile(
            name: name, fileExtension: name.flatMap(Asset.fileExtension(ofName:)) ?? format?.fileExtension,
            byteCount: reader.byteOffset, sha256: sha256, blocks: blocks, media: MediaDescription())
        if let incoming {
            try self.describe(&file, incoming.headerBytes(byteCount: reader.byteOffset)) { () throws(BlobError) in
                try incoming.openForReading()
            }
        }
        if let path = source.filePath {
            file.modificationTime = try? FileSnapshot(path: path).modification.inNanoseconds
            if format?.mediaType.hasPrefix("image/") == true {
                file.sidecars = try self.ofSource { () throws(BlobError) in try Sidecar.beside(path) }
            }
        }
        return file
    }

    /// Adds what the headers and the metadata of a file say.
    ///
    /// - Parameter header: Each parser gets its own, since it limits what one reads.
    private func describe(
        _ file: inout ImportedFile, _ header: @autoclosure () -> HeaderBytes, _ open: () throws(BlobError) -> CInt
    ) throws(BlobError) {
        let name = file.name
        try self.ofSource { () throws(BlobError) in try CloudPlaceholder.check(name: name, header()) }
        (file.media, file.hasAllFacts) = try self.facts.describe(header(), open)
        file.embeddedXMP = EmbeddedXMP.find(in: header())
    }

    /// The size of the buffer in bytes, with which reads from the page cache and writes to the disk are fastest.
    private static let bufferByteCount = 256 * 1024
}

extension BlobInputStreamDataSource {
    /// The path of a plain file, as bytes; nil for any other source.
    fileprivate var filePath: [UInt8]? {
        guard let locator, locator.scheme == "file", locator.selectors.isEmpty else { return nil }
        return locator.filePath
    }
}
