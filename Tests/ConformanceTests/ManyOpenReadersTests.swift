import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

/// The memory of many readers at once; each in a process of its own, because what else allocates would count too.
@Suite(.timeLimit(.minutes(5))) struct ManyOpenReadersTests {
    private static let script = """
        import gzip, tarfile, zipfile
        data = open('data', 'rb').read()
        open('data.gz', 'wb').write(gzip.compress(data, 1))
        with tarfile.open('data.tar.gz', 'w:gz') as archive: archive.add('data')
        with zipfile.ZipFile('data.zip', 'w', zipfile.ZIP_DEFLATED) as archive: archive.write('data')
        """

    @Test func aThousandReadersOfGzipAndArchivesTakeLessThan256MiB() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let bytes = makeContent(1 << 20)
            try folder.write(bytes, to: "data")
            try #require(FinishedProcess("python3", ["-c", Self.script], in: folder.url).status == 0)
            let file = { (name: String) in FileSource(path: folder.path(name)) }
            let member = { (base: any BlobInputStreamDataSource, format: ArchiveFormat) in
                try ArchiveContainer(base, format: format).member(.name("data"), context: BlobContext())
            }
            let sources: [any BlobInputStreamDataSource] = [
                GzipSource(file("data.gz")), try member(GzipSource(file("data.tar.gz")), .tar),
                try member(file("data.zip"), .zip),
            ]
            _ = setDescriptorLimit(20_000)
            let before = heapByteCount()
            let readers = try (0..<1000).map { try sources[$0 % sources.count].open() }
            // In the middle of the bytes, where decoders hold their windows.
            for reader in readers { try #require(try read(reader, upTo: 100_000).count > 0) }
            let byteCount = heapByteCount() - before
            print("1,000 readers of gzip and archives: \(byteCount >> 20) MiB")
            try #require(byteCount < 256 << 20, "\(byteCount >> 20) MiB")
            for reader in readers.suffix(sources.count) {
                let start = Int(reader.byteOffset)
                try #require(try readAll(reader) == Array(bytes[start...]))
            }
            for reader in readers { reader.close() }
        }
    }

    @Test func tenThousandOpenFilesTakeLessThan128MiB() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let limit = setDescriptorLimit(20_000)
            defer { _ = setDescriptorLimit(limit) }
            let paths = try (0..<100).map { try folder.write("content \($0)", to: "\($0)") }
            let before = heapByteCount()
            let readers = try (0..<10_000).map { try FileSource(path: paths[$0 % paths.count]).open() }
            for (number, reader) in readers.enumerated() {
                try #require(try readAll(reader) == Array("content \(number % paths.count)".utf8))
            }
            let byteCount = heapByteCount() - before
            print("10,000 open files: \(byteCount >> 20) MiB")
            try #require(byteCount < 128 << 20, "\(byteCount >> 20) MiB")
        }
    }
}
