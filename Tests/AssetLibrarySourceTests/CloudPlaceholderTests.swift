#if Photos
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

/// Files that stand for others, which a cloud keeps.
@Suite struct CloudPlaceholderTests {
    private func error(_ bytes: [UInt8], named name: String) throws -> BlobError? {
        let folder = try TemporaryFolder()
        let source = try FileSource(path: folder.write(bytes, to: name))
        return try withExtendedLifetime(folder) {
            let test = try TestLibrary()
            do {
                _ = try test.library.importAsset(from: source)
                return nil
            } catch {
                return BlobError(wrapping: error)
            }
        }
    }

    @Test(arguments: ["bplist00 and so on", "<?xml version=\"1.0\"?><plist/>"])
    func aPlaceholderOfICloudIsUnavailable(text: String) throws {
        let error = try self.error(Array(text.utf8), named: ".IMG_1.HEIC.icloud")
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("'IMG_1.HEIC' is stored in the cloud") == true)
    }

    @Test func otherFilesOfSuchNamesAreImported() throws {
        #expect(try self.error(Array("bplist00".utf8), named: "IMG_1.HEIC.icloud") == nil)
        #expect(try self.error(Array("notes".utf8), named: ".IMG_1.HEIC.icloud") == nil)
    }

    @Test func aPictureWithoutBlocksIsUnavailable() throws {
        let folder = try TemporaryFolder()
        for (name, isRefused) in [("a.JPG", true), ("a.bin", false)] {
            let path = try folder.write("", to: name)
            try #require(truncate(path, 100_000) == 0)
            var status = stat()
            try #require(stat(path, &status) == 0)
            // Not every file system tells holes.
            guard status.st_blocks == 0 else { continue }
            let test = try TestLibrary()
            let code = codeThrown { try test.library.importAsset(from: FileSource(path: path)) }
            #expect(code == (isRefused ? .unavailable : nil), "\(name)")
        }
    }
}
#endif
