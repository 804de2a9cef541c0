import BlobStreams
import FileSource
import Foundation

extension Comparison {
    /// Reading a file in large pieces, in every available way, compared with the bare system call.
    static var reading: Comparison {
        let byteCount = 64 << 10
        return Comparison(
            title: "Reading a file, 64 KiB a read", unit: "KiB", count: FileToRead.byteCount >> 10,
            subjects: [
                Subject(name: "BlobInputStream") { _ in drain(BlobInputStream(try file()), by: byteCount) },
                Subject(name: "BlobInputStream, asynchronous") { _ in
                    drain(BlobInputStream(try file(), mode: .asynchronous), by: byteCount)
                },
                Subject(name: "BlobInputStream, asynchronous, source that blocks") { _ in
                    drain(BlobInputStream(try BlockingSource.file(), mode: .asynchronous), by: byteCount)
                },
                Subject(name: "chunks") { _ in drain(try file().chunks(ofAtMost: byteCount)) },
                Subject(name: "chunks, source that blocks") { _ in
                    drain(try BlockingSource.file().chunks(ofAtMost: byteCount))
                },
                Subject(name: "Foundation's InputStream") { _ in drain(try foundationStream(), by: byteCount) },
                Subject(name: "pread(2)") { _ in try BareFile.drain(by: byteCount, .pread) },
                Subject(name: "pread(2) and fstat(2)") { _ in try BareFile.drain(by: byteCount, .preadAndFstat) },
            ],
            peer: Subject(name: "read(2)") { _ in try BareFile.drain(by: byteCount) })
    }

    /// Reading a file in small pieces.
    static var smallReading: Comparison {
        let byteCount = 1 << 10
        return Comparison(
            title: "Reading a file, 1 KiB a read", unit: "KiB", count: FileToRead.byteCount >> 10,
            subjects: [
                Subject(name: "BlobInputStream") { _ in drain(BlobInputStream(try file()), by: byteCount) },
                Subject(name: "BlobInputStream, asynchronous") { _ in
                    drain(BlobInputStream(try file(), mode: .asynchronous), by: byteCount)
                },
                Subject(name: "read(2)") { _ in try BareFile.drain(by: byteCount) },
            ],
            peer: Subject(name: "Foundation's InputStream") { _ in drain(try foundationStream(), by: byteCount) })
    }
}

private func file() throws -> FileSource { FileSource(url: URL(filePath: try FileToRead.path())) }

private func foundationStream() throws -> InputStream {
    guard let stream = InputStream(fileAtPath: try FileToRead.path()) else { preconditionFailure("The file is there.") }
    return stream
}
