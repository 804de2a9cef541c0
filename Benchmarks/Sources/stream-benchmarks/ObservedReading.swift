import BlobObservability
import BlobStreams
import FileSource
import Foundation

extension Comparison {
    /// Reading a file in a job that is observed, but whose program has bootstrapped neither metrics nor a tracer.
    static var observedReading: Comparison {
        Comparison(
            title: "Reading a file in an observed job, 64 KiB a read", unit: "KiB", count: FileToRead.byteCount >> 10,
            subjects: [Subject(name: "observed") { _ in try drain(BlobContext().observed()) }],
            peer: Subject(name: "not observed") { _ in try drain(BlobContext()) })
    }

    /// Opening a file, reading 64 KiB and closing it.
    static var observedOpening: Comparison {
        func round(_ context: BlobContext, _ count: Int) throws {
            let source = FileSource(url: URL(filePath: try FileToRead.path()))
            for index in 0..<count {
                let start = Int64(index % 64) << 16
                let data = try source.slice(start..<start + 1 << 16).data(upTo: 1 << 16, context: context)
                precondition(data.count == 1 << 16)
            }
        }
        return Comparison(
            title: "Opening a file in an observed job, for 64 KiB", unit: "openings", count: 20_000,
            subjects: [Subject(name: "observed") { count in try round(BlobContext().observed(), count) }],
            peer: Subject(name: "not observed") { count in try round(BlobContext(), count) })
    }

    private static func drain(_ context: BlobContext) throws {
        let reader = try FileSource(url: URL(filePath: try FileToRead.path())).open(context: context)
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var byteCount = 0
        while case let count = try reader.readBlocking(into: buffer), count > 0 { byteCount += count }
        precondition(byteCount == FileToRead.byteCount)
    }
}
