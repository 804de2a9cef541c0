import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

/// Files that change under a reader, plain ones and those under decoders: what is delivered is a true prefix, and an
/// end means that all of it is right.
@Suite(.timeLimit(.minutes(5))) struct ChangingFileTests {
    enum Change: CaseIterable { case shrunk, grown, replaced, rewritten }

    enum Form: String, CaseIterable {
        case plain = "data", gzip = "data.gz", indexedGzip = "data.gz by index", tarred = "data.tar"
        case stored = "stored.zip", deflated = "deflated.zip", tarredGzip = "data.tar.gz", xz = "data.xz"

        /// True when one descriptor serves the whole reading, so that a file of the same name does not matter.
        var isOpenedOnce: Bool { [.plain, .gzip].contains(self) }

        func path(in folder: TemporaryFolder) -> String {
            folder.path(self == .indexedGzip ? "data.gz" : self.rawValue)
        }

        func source(in folder: TemporaryFolder) throws -> any BlobInputStreamDataSource {
            let file = FileSource(path: self.path(in: folder))
            let member = { (base: any BlobInputStreamDataSource, format: ArchiveFormat) in
                try ArchiveContainer(base, format: format).member(.name("data"), context: BlobContext())
            }
            return switch self {
            case .plain: file
            case .gzip: GzipSource(file)
            case .indexedGzip: GzipSource(file, index: .file(folder.path("index")))
            case .tarred: try member(file, .tar)
            case .tarredGzip: try member(GzipSource(file), .tar)
            case .stored, .deflated: try member(file, .zip)
            case .xz: DecompressedSource(file, format: .xz)
            }
        }
    }

    private static let script = """
        import gzip, lzma, tarfile, zipfile
        data = open('data', 'rb').read()
        open('data.gz', 'wb').write(gzip.compress(data, 1))
        open('data.xz', 'wb').write(b''.join(lzma.compress(data[i:i + 300000], preset=0) for i in range(0, len(data), 300000)))
        for name, mode in ('data.tar', 'w'), ('data.tar.gz', 'w:gz'):
            with tarfile.open(name, mode) as archive: archive.add('data')
        for name, method in ('stored.zip', zipfile.ZIP_STORED), ('deflated.zip', zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(name, 'w', method) as archive: archive.write('data')
        """

    /// Larger than the buffers and slices on the way, so that some of it is read after the change.
    private static let bytes = makeContent(6 << 20)

    private static func apply(_ change: Change, to path: String) throws {
        let old = try Data(contentsOf: URL(fileURLWithPath: path))
        let inverted = Data(old.map { ~$0 })
        switch change {
        case .shrunk: #expect(truncate(path, off_t(old.count / 2)) == 0)
        case .grown:
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.seekToEnd()
            try file.write(contentsOf: inverted.prefix(100_000))
            try file.close()
        case .replaced:
            try inverted.write(to: URL(fileURLWithPath: "\(path).new"))
            #expect(rename("\(path).new", path) == 0)
        case .rewritten:
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.write(contentsOf: inverted)
            try file.close()
        }
    }

    @Test(arguments: Form.allCases, Change.allCases)
    func whatIsDeliveredIsATruePrefix(_ form: Form, _ change: Change) async throws {
        try await onThread { () throws in
            let folder = try TemporaryFolder()
            try folder.write(Self.bytes, to: "data")
            try #require(FinishedProcess("python3", ["-c", Self.script], in: folder.url).status == 0)
            let source = try form.source(in: folder)
            if form == .indexedGzip { _ = try source.data(upTo: .max) }
            let validator = try source.info().validator
            let reader = try source.open(context: BlobContext())
            defer { reader.close() }
            var found = try read(reader, upTo: 70_000)
            try Self.apply(change, to: form.path(in: folder))
            let code = codeThrown {
                while case let piece = try read(reader, upTo: 70_000), !piece.isEmpty { found += piece }
            }
            #expect(Self.bytes.starts(with: found), "after \(found.count) bytes")
            #expect(
                code == nil ? found.count == Self.bytes.count : [.changed, .truncated].contains(code),
                "\(String(describing: code))")
            if form.isOpenedOnce, change == .grown || change == .replaced { #expect(code == nil) }
            if form == .plain, change == .shrunk || change == .rewritten { #expect(code == .changed) }
            guard let validator else { return }
            #expect(codeThrown { try source.open(matching: validator).close() } != nil)
        }
    }
}
