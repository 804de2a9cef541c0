import BlobCore

/// The bytes of an archive, read for a helper wherever it asks for them. Has one owner.
final class HelperBase {
    /// The largest gap, in bytes, that is cheaper to read and drop than to skip by reopening the base.
    private static let patience: Int64 = 256 * 1024

    let info: BlobInfo
    let hasRandomAccess: Bool
    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private var reader: BlobGuardedReader

    init(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        self.base = base
        self.context = context
        self.reader = try base.open(context: context)
        self.info = try self.reader.info(of: base, context)
        self.hasRandomAccess =
            base.traits.contains(.repeatable) && self.info.isRandomAccess && self.info.byteCount != nil
    }

    deinit { self.reader.close() }

    /// The offset up to which the base was read.
    var byteOffset: Int64 { self.reader.byteOffset }

    /// Reads bytes from an offset on into a buffer, one at least; returns their number, 0 at the end of the base.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when the offset cannot be reached, because the helper never needs it.
    func read(at byteOffset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        try self.context.check()
        let gap = byteOffset - self.reader.byteOffset
        if self.hasRandomAccess, let end = self.info.byteCount {
            if byteOffset >= end { return 0 }
            if gap < 0 || gap > Self.patience {
                self.reader.close()
                self.reader = try self.base.open(at: byteOffset, matching: self.info.validator, context: self.context)
            }
        } else if gap != 0 {
            throw BlobError(.corrupted, "The helper asked for a byte that cannot be reached.", byteOffset: byteOffset)
        }
        do {
            while self.reader.byteOffset < byteOffset {
                let count = min(Int(clamping: byteOffset - self.reader.byteOffset), buffer.count)
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                guard try self.reader.readWaiting(into: part) > 0 else { return 0 }
            }
            return try self.reader.readWaiting(into: buffer)
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Reads the base to its end, which runs its final checks.
    func drain(_ buffer: UnsafeMutableRawBufferPointer) throws(BlobError) {
        do {
            while try self.reader.readWaiting(into: buffer) > 0 {}
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}
