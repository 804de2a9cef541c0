#if Command
import BlobTestSupport
import Foundation
import Testing

/// `--password-file`, with zips that Info-ZIP and 7-Zip encrypted.
@Suite struct PasswordTests {
    private let folder: TemporaryFolder
    private let password: String
    private let content = String(repeating: "some text, some more text, some text ", count: 20)

    init() throws {
        self.folder = try TemporaryFolder()
        self.password = try self.folder.write("secret\n", to: "password")
    }

    private func fixture(_ name: String) -> String { BlobTestSupport.fixture(name, of: "ArchiveSourceTests").path }

    private var zip: String { self.fixture("7zip-aes128.zip") }

    private func cat(_ passwordFile: String, _ member: String = "short", input: [UInt8] = []) throws -> Outcome {
        try Launch("cat", "\(self.zip)#\(member)", "--password-file", passwordFile).run(input: input)
    }

    @Test func everyCommandThatReadsTakesThePassword() throws {
        for file in [self.zip, self.fixture("infozip.zip")] {
            let member = "\(file)#short"
            expect(
                try Launch("cat", member, "--password-file", self.password, "\(file)#empty").run(), prints: self.content
            )
            let sum = try Launch("sum", member, "\(file)#empty", "--password-file", self.password).run()
            #expect(sum.ending == .status(0), "\(sum.errorText)")
            #expect(sum.text.hasPrefix("56ba0a6c"))
            let form = try Launch("form", "-F", "f=@\(member)", "--password-file", self.password).run()
            #expect(form.text.contains(self.content))
            let test = try Launch("test", member, "--password-file", self.password).run()
            #expect(test.ending == .status(0) && test.text.hasPrefix("\(member): OK, "), "\(test.text)")
            let without = try Launch("cat", member).run()
            expect(without, failsWith: "encrypted", 65, saying: "Use --password-file FILE.")
            #expect(!without.errorText.contains("BlobContext"))
        }
    }

    @Test func listingAndDescribingNeedNoPassword() throws {
        expect(try Launch("ls", self.zip).run(), prints: "empty\nlong\nshort\n")
        #expect(try Launch("ls", "-l", self.zip).run().text.hasPrefix("*"))
        #expect(try Launch("info", "\(self.zip)#short").run().text.contains("encryption: AES-128, AE-2"))
        let info = try Launch("info", "\(self.zip)#short", "--json", "--password-file", self.password).run()
        #expect(info.ending == .status(0))
        #expect(!info.text.contains("secret"))
    }

    @Test func thePasswordIsTheFirstLine() throws {
        for text in ["secret", "secret\n", "secret\r\n", "secret\nother\n", "secret\r\n\r\n"] {
            let file = try self.folder.write(text, to: "line")
            expect(try self.cat(file), prints: self.content)
        }
        expect(try self.cat("-", input: Array("secret\n".utf8)), prints: self.content)
        let file = try self.folder.write("pässwörd€\n", to: "line")
        let member = "\(self.fixture("pyzipper-ae2.zip"))#short"
        expect(try Launch("cat", member, "--password-file", file).run(), prints: self.content)
    }

    @Test func aFileWithoutAPasswordIsRefused() throws {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 1025)
        let cases: [([UInt8], String)] = [
            ([], "is empty"), (Array("\nsecret".utf8), "is empty"), (Array("\r\n".utf8), "is empty"),
            (long, "longer than 1024"), ([0x73, 0xFF], "UTF-8"), ([0x73, 0, 0x73], "UTF-8"),
        ]
        for (bytes, text) in cases {
            let file = try self.folder.write(bytes, to: "wrong")
            expect(try self.cat(file), failsWith: "invalidArgument", 64, saying: text)
        }
        expect(try self.cat(self.folder.write(Array(long.dropLast()), to: "wrong")), failsWith: "encrypted", 65)
        expect(try self.cat(self.folder.path("missing")), failsWith: "notFound", 66)
    }

    @Test func aWrongPasswordIsNeverShown() throws {
        let file = try self.folder.write("sesame", to: "wrong")
        let outcome = try self.cat(file)
        expect(outcome, failsWith: "encrypted", 65, saying: "the password is wrong")
        #expect(!outcome.errorText.contains("sesame"))
        #expect(try Launch("cat", "\(self.zip)#short", "--password", "secret").run().ending == .status(64))
    }

    @Test func standardInputHasAPasswordOrData() throws {
        let input = Array("secret\n".utf8)
        for arguments in [["-"], ["--from-file", "-"], ["gzip+-"], ["stdin:#short"]] {
            expect(
                try Launch(["cat"] + arguments + ["--password-file", "-"]).run(input: input),
                failsWith: "invalidArgument", 64, saying: "Standard input")
        }
        expect(
            try Launch("cat", "stdin:#short", "--password-file", self.password).run(input: readFile(self.zip)),
            prints: self.content)
    }

    @Test func nothingOfADecryptedArchiveIsKept() throws {
        let nested = self.fixture("nested-locked.zip")
        let outer = try self.folder.write("outer", to: "outer")
        let index = self.folder.path("index")
        for _ in 0..<3 {
            let list = Launch("ls", "\(nested)#many.tar", "--index", index, "--password-file", outer)
            expect(try list.run(), prints: "one\ntwo\nthree\n")
            expect(
                try Launch("ls", "\(nested)#many.tar", "--index", index).run(), failsWith: "encrypted", 65)
        }
        #expect(!FileManager.default.fileExists(atPath: index))
    }
}
#endif
