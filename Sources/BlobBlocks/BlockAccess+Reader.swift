package import BlobCore

extension BlockAccess {
    /// As ``body(_:at:info:index:recording:judge:)``, for callers that read by a ``BlobPluginReader``.
    package func reader(
        _ base: BlockBase, at byteOffset: Int64, info: BlobInfo, index: BlockIndex? = nil,
        recording: BlockRecording? = nil, judge: @escaping @Sendable (Int64) throws -> any BlobPluginReader
    ) throws -> (any BlobPluginReader)? {
        // The caller compares the length, which may be that in an index of other bytes.
        var unmeasured = info
        unmeasured.byteCount = nil
        let body = try self.body(base, at: byteOffset, info: unmeasured, index: index, recording: recording) {
            .reader(try judge($0), startingAt: $0)
        }
        guard let body else { return nil }
        return MeasuredReader(try BlobReader(body, BlobOpening(at: byteOffset, context: base.context)), info)
    }
}

/// A reader with the info that its caller gave.
private final class MeasuredReader: ForwardingReader {
    let base: any BlobPluginReader
    let info: BlobInfo

    init(_ base: any BlobPluginReader, _ info: BlobInfo) { (self.base, self.info) = (base, info) }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }
}
