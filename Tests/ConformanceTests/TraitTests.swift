#if !Crypto && !Command
import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

/// A build of the package without any of its traits says what it has not.
@Suite struct TraitTests {
    @Test func thereAreNoDigests() { #expect(CryptoDigest.all.isEmpty) }

    @Test func aStoreIsUnavailable() {
        let error = #expect(throws: BlobError.self) { try S3Source("s3://bucket/key") }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("the trait Crypto") == true)
    }

    @Test func anEncryptedMemberIsUnsupported() throws {
        let archive = fixture("aes-bzip2.7z", of: "ArchiveSourceTests").path
        let source = try BlobRegistry.standard.source(for: "\(archive)#a.txt")
        var context = BlobContext()
        context.password = { _ in "secret" }
        let error = #expect(throws: BlobError.self) {
            let reader = try source.open(context: context)
            defer { reader.close() }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
            defer { buffer.deallocate() }
            _ = try reader.readBlocking(into: buffer)
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("the trait Crypto") == true)
    }

    @Test(arguments: [("blob", "Command"), ("blob-receive", "Receiver"), ("blob-serve", "Receiver")])
    func aProgramNamesItsTrait(program: String, trait: String) throws {
        let run = try FinishedProcess(productsFolder.appendingPathComponent(program).path, ["--help"])
        #expect(run.status == 69)
        #expect(run.errors.hasPrefix("\(program): unavailable: ") && run.errors.contains("the trait \(trait) "))
    }
}
#endif
