/// The stream of a plugin that hands out a reader of its own.
final class PluginReaderStream: BlobByteStream {
    let reader: any BlobPluginReader
    private let slot = BlobWakerSlot()
    private let isMissing = Locked(false)
    private var waker: BlobWaker?

    init(_ reader: any BlobPluginReader) { self.reader = reader }

    var info: BlobInfo? {
        if self.reader.isOpen { return self.reader.info }
        self.reader.whenReadable(self.pluginWaker)
        return self.reader.isOpen ? self.reader.info : nil
    }

    var neverBlocks: Bool { self.reader.neverBlocks }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.isMissing.withLock({ $0 }) {
            throw BlobError(.misbehavingPlugin, "A read returned 'notYet', but the reader never calls its waker (C1).")
        }
        let result = try self.reader.read(into: &output)
        if result == .notYet { self.reader.whenReadable(self.pluginWaker) }
        return result
    }

    func close() { self.reader.close() }

    private var pluginWaker: BlobWaker {
        if let waker { return waker }
        let waker = BlobWaker(reporting: { [slot, isMissing] in
            if $0 { _ = isMissing.exchange(true) }
            slot.fire()
        })
        self.waker = waker
        return waker
    }
}

extension BlobBody {
    /// Returns the bytes of a reader, which is at `byteOffset`.
    package static func reader(_ reader: any BlobPluginReader, startingAt byteOffset: Int64) -> BlobBody {
        .stream(PluginReaderStream(reader), startingAt: byteOffset)
    }
}
