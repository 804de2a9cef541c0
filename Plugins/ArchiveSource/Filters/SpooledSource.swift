import BlobStreams

/// The bytes of a source that cannot seek, in a temporary file without a name, which goes with its last reader.
///
/// Copied when it is first opened, and again when the content has changed or nothing tells whether it has.
final class SpooledSource: BlobLayer {
    private let base: any BlobInputStreamDataSource
    private let maximumByteCount: Int64
    private let copy = Locked<Spool?>(nil)
    private let isBusy = BlobObservable(false)

    init(_ base: any BlobInputStreamDataSource, maximumByteCount: Int64) {
        self.base = base
        self.maximumByteCount = maximumByteCount
    }

    var underlying: any BlobInputStreamDataSource { self.base }
    var capabilities: BlobCapabilities { .all }
    var locator: BlobLocator? { self.base.locator }
    var layerName: String { self.base.layerName }

    func info(_ context: BlobContext) throws -> BlobInfo { try self.spool(context).info }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let spool = try self.spool(context)
        return try PositionalReader(spool.info, at: byteOffset, matching: validator) { byteOffset, output in
            try spool.read(into: &output, at: byteOffset)
        }
    }

    private func spool(_ context: BlobContext) throws -> Spool {
        // Whoever comes while another copies waits for that copy: some bases can be read only once.
        while self.isBusy.update({ isBusy in
            defer { isBusy = true }
            return isBusy
        }) {
            try self.isBusy.wait(context) { $0 ? nil : () }
        }
        defer { self.isBusy.update { $0 = false } }
        if let spool = self.copy.withLock({ $0 }) {
            guard self.base.capabilities.contains(.repeatable) else { return spool }
            let validator = try self.base.checkedInfo(context).validator
            if validator != nil, validator == spool.info.validator { return spool }
        }
        let spool = try Spool(self.base, maximumByteCount: self.maximumByteCount, context)
        self.copy.withLock { $0 = spool }
        return spool
    }
}

/// A copy, and what the base said of itself then.
private final class Spool: Sendable {
    let info: BlobInfo
    private let file: UnlinkedFile

    private static let bufferByteCount = 256 * 1024

    init(_ base: any BlobInputStreamDataSource, maximumByteCount: Int64, _ context: BlobContext) throws {
        let reader = try base.open(context: context)
        defer { reader.close() }
        let file = try UnlinkedFile()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        while case let count = try reader.readWaiting(into: buffer), count > 0 {
            guard reader.byteOffset <= maximumByteCount else {
                throw BlobError(
                    .limitExceeded,
                    "This archive must be copied to be searched, and is larger than the limit of \(maximumByteCount) "
                        + "bytes for that.", byteOffset: maximumByteCount)
            }
            try file.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        var info = reader.info
        info.byteCount = file.byteCount
        self.info = info
        self.file = file
    }

    func read(into output: inout OutputRawSpan, at byteOffset: Int64) throws(BlobError) {
        try self.file.read(into: &output, at: byteOffset)
    }
}
