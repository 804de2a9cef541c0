#if Command
import BlobTestSupport
import Foundation
import Testing

/// The script of Layers of containers, called as container engines call `unpigz`.
@Suite(.enabled(if: isLinux)) struct LayerDecoderTests {
    private let folder: TemporaryFolder
    private let content = makeContent(300_000)
    private let layer: [UInt8]
    private let script: String

    init() throws {
        self.folder = try TemporaryFolder()
        try self.folder.write(self.content, to: "content")
        try self.folder.run(
            "sh", "-c", "(head -c 100000 content | gzip; tail -c +100001 content | gzip) > layer.gz")
        self.layer = try self.folder.bytes("layer.gz")
        self.script = try self.folder.write("#!/bin/sh\nexec blob cat gzip+-\n", to: "unpigz")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: self.script)
    }

    private func decode(_ input: [UInt8]) throws -> Outcome {
        let launch = Launch("-d", "-c").with {
            $0.program = self.script
            $0.prelude = "export PATH='\(productsFolder.path)':\"$PATH\""
        }
        return try launch.run(input: input)
    }

    @Test func allMembersAreDecoded() throws {
        expect(try self.decode(self.layer), prints: self.content)
        expect(try self.decode(self.layer + [UInt8](repeating: 0, count: 512)), prints: self.content)
    }

    @Test func onlyOneFilterIsRemoved() throws {
        let twice = try self.folder.run("gzip", "-c", self.folder.path("layer.gz")).output
        expect(try self.decode([UInt8](twice)), prints: self.layer)
    }

    @Test func aDamagedLayerIsAnError() throws {
        let cut = try self.decode(self.layer.dropLast(9))
        expect(cut, failsWith: "truncated", 65, after: cut.output)
        #expect(self.content.starts(with: cut.output))
        let wrong = self.layer.flipping(at: self.layer.count - 5)
        expect(try self.decode(wrong), failsWith: "checksumMismatch", 65, after: self.content)
        let junk = self.layer + Array("junk".utf8)
        expect(try self.decode(junk), failsWith: "trailingData", 65, after: self.content)
        expect(try self.decode(self.content), failsWith: "unsupported", 65)
        expect(try self.decode([]), failsWith: "truncated", 65)
    }
}
#endif
