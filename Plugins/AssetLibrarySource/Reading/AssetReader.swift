import BlobStreams
import CryptoDigest
import Foundation

/// Reads an original through a window, and watches that it stays what it was.
///
/// Before bytes count, the file is looked at again: if it was touched since it was opened, they are thrown away and the
/// file is found anew.
final class AssetReader: BlobReader {
    let info: BlobInfo
    private let asset: Asset
    private let resolver: AssetResolver
    private let removal: AssetSource.RemovalPolicy
    private let context: BlobContext
    private var representation = Representation()
    private var file: OriginalFile?
    private var window = ReadWindow(byteCount: AssetSource.windowByteCount)
    /// Of the next byte to fetch; what is in the window lies before it.
    private var fetchOffset: Int64
    /// Of all bytes that were fetched; nil when the first ones were not, or when it was compared.
    private var hasher: (any BlobHasher)?
    private var failure: BlobError?

    init(
        _ asset: Asset, _ resolver: AssetResolver, at byteOffset: Int64, removal: AssetSource.RemovalPolicy,
        _ context: BlobContext
    ) throws(BlobError) {
        self.asset = asset
        self.info = asset.info
        self.resolver = resolver
        self.fetchOffset = byteOffset
        self.removal = removal
        self.context = context
        if byteOffset == 0 { self.hasher = CryptoDigest.sha256.makeHasher() }
        try self.openFirst()
        if byteOffset == asset.byteCount { try self.checkEnd() }
    }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        do {
            if self.window.isEmpty, self.fetchOffset < self.asset.byteCount {
                guard output.freeCapacity < self.window.capacity else { return try self.readStraight(into: &output) }
                self.window.fill(with: try self.fetch(into: self.window.allocated()))
            }
            if self.window.isEmpty { self.representation.end() }
            self.window.take(into: &output)
        } catch {
            let error = BlobError(wrapping: error)
            self.failure = error
            self.representation.fail()
            throw error
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.representation.close()
        self.window.free()
        self.file?.close()
        self.file = nil
    }

    /// A reader with much room needs no window.
    private func readStraight(into output: inout OutputRawSpan) throws {
        try output.append(atMost: .max) { part in
            try part.withUnsafeMutableBytes { buffer, initializedCount in
                initializedCount = try self.fetch(into: buffer)
            }
        }
    }

    /// Reads at the offset and goes past it: at least one byte, of a file that stayed as it was.
    ///
    /// - Throws: ``BlobError/Code/checksumMismatch`` instead of the last bytes, when they are not what was imported.
    private func fetch(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        let room = Int(min(Int64(buffer.count), self.asset.byteCount - self.fetchOffset))
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])
        while true {
            try self.context.check()
            guard let count = try self.readUntouched(into: part) else { continue }
            self.representation.deliver()
            self.hasher?.update(UnsafeRawBufferPointer(rebasing: part[..<count]))
            self.fetchOffset += Int64(count)
            if self.fetchOffset == self.asset.byteCount { try self.checkEnd() }
            return count
        }
    }

    /// One read; nil after a recovery from what happened to the file.
    private func readUntouched(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int? {
        guard let file else { throw BlobError(.closed, "The reader is closed.") }
        let count: Int
        let now: FileSnapshot
        do {
            count = try file.read(into: buffer, at: self.fetchOffset)
            now = try file.status()
        } catch {
            try self.recover(.offline, error)
            return nil
        }
        if now == file.snapshot, count > 0 { return count }
        try self.recover(now.hasContent(of: file.snapshot) ? .moved : .edited, nil)
        return nil
    }

    private func checkEnd() throws(BlobError) {
        guard var hasher = self.hasher else { return }
        self.hasher = nil
        let found = hasher.finalize()
        guard found == self.asset.sha256 else {
            throw BlobError(
                .checksumMismatch,
                "The original has the SHA-256 \(found.hexadecimal), and was imported with "
                    + "\(self.asset.sha256.hexadecimal).", byteOffset: self.fetchOffset)
        }
    }

    // MARK: Finding the file

    private func openFirst() throws(BlobError) {
        var asset = self.asset
        while let delay = self.representation.resolve() {
            if delay > .zero {
                // It may have been moved between the two looks.
                try self.context.pause(for: delay)
                asset = try self.resolver.asset()
                try self.checkContent(asset)
            }
            let file: OriginalFile
            do {
                file = try self.resolver.file(of: asset)
            } catch  where error.code == .notFound {
                continue
            }
            guard file.snapshot.byteCount == asset.byteCount else {
                throw BlobError(
                    .sizeMismatch,
                    "The original has \(file.snapshot.byteCount) bytes, and was imported with \(asset.byteCount).")
            }
            self.file = file
            return self.representation.becomeReady()
        }
        throw BlobError(.notFound, "The original of the asset is not in its place: \(asset.storedPath).")
    }

    /// Makes ``file`` one from which reading can go on.
    private func recover(_ reason: Representation.Reason, _ cause: BlobError?) throws(BlobError) {
        self.representation.invalidate(reason)
        self.context.eventSink?(.invalidated(byteOffset: self.fetchOffset))
        while let delay = self.representation.resolve() {
            if delay > .zero { try self.context.pause(for: delay) }
            guard try self.find(reason) else { continue }
            self.representation.becomeReady()
            self.context.eventSink?(.recovered(byteOffset: self.fetchOffset))
            return
        }
        if let cause { throw cause }
        throw BlobError(.changed, "The original was moved, removed or written to, and was not found again.")
    }

    /// Looks for the file once; false when it may be worth to look again.
    private func find(_ reason: Representation.Reason) throws(BlobError) -> Bool {
        guard let asset = try self.resolver.library.catalogue.asset(self.resolver.id) else {
            if self.removal == .finish, reason == .moved { return try self.file?.acceptMove() ?? false }
            throw BlobError(.changed, "The asset was removed from the library while it was read.")
        }
        try self.checkContent(asset)
        if self.removal == .finish, reason == .moved { return try self.file?.acceptMove() ?? false }
        let found: OriginalFile
        do {
            found = try self.resolver.file(of: asset)
        } catch  where error.code == .notFound {
            return false
        }
        if reason == .moved, let file, found.snapshot.isSameFile(as: file.snapshot) { return try file.acceptMove() }
        guard try self.hasContent(found) else {
            throw BlobError(.changed, "The original was written to or replaced while it was read.")
        }
        self.file?.close()
        self.file = found
        return true
    }

    private func checkContent(_ asset: Asset) throws(BlobError) {
        guard asset.sha256 == self.asset.sha256 else {
            throw BlobError(.changed, "The asset was given another original while it was read.")
        }
    }

    /// Whether a file has the bytes that this reader was opened for: reads all of it.
    private func hasContent(_ file: OriginalFile) throws(BlobError) -> Bool {
        guard file.snapshot.byteCount == self.asset.byteCount else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: AssetSource.windowByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var hasher = CryptoDigest.sha256.makeHasher()
        var offset: Int64 = 0
        while offset < self.asset.byteCount {
            try self.context.check()
            let count = try file.read(into: buffer, at: offset)
            guard count > 0 else { return false }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        let now = try file.status()
        return now == file.snapshot && offset == self.asset.byteCount && hasher.finalize() == self.asset.sha256
    }
}
