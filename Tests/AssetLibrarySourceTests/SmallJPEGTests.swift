#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import AssetLibrarySource

/// Thumbnails of JPEG by libturbojpeg alone.
@Suite(.serialized) struct SmallJPEGTests {
    private static let hasLibrary = MediaProcessTests.hasLibrary(for: .smallJPEGs)

    /// Writes a grey JPEG whose corners have the levels 0, 80, 160 and 240, or prints the corners of others.
    private static let script = """
        import ctypes, sys
        library = ctypes.CDLL("libturbojpeg.so.0")
        for name in ("tjInitCompress", "tjInitDecompress"):
            getattr(library, name).restype = ctypes.c_void_p
        files = [(path, int(width), int(height)) for path, width, height in zip(*(sys.argv[n::3] for n in (2, 3, 4)))]
        if sys.argv[1] == "make":
            (path, width, height), = files
            rows = [bytes([level, level + 80][2 * x // width] for x in range(width)) for level in (0, 160)]
            pixels = b"".join(rows[2 * y // height] for y in range(height))
            made, count = ctypes.POINTER(ctypes.c_ubyte)(), ctypes.c_ulong(0)
            handle = ctypes.c_void_p(library.tjInitCompress())
            assert library.tjCompress2(handle, pixels, width, 0, height, 6, ctypes.byref(made), ctypes.byref(count), 3, 95, 0) == 0
            open(path, "wb").write(bytes(made[:count.value]))
        for path, width, height in files if sys.argv[1] == "read" else ():
            content, pixels = open(path, "rb").read(), ctypes.create_string_buffer(width * height)
            handle = ctypes.c_void_p(library.tjInitDecompress())
            found = [ctypes.c_int(), ctypes.c_int(), ctypes.c_int()]
            library.tjDecompressHeader2(handle, content, ctypes.c_ulong(len(content)), *map(ctypes.byref, found))
            assert (found[0].value, found[1].value) == (width, height), found
            assert library.tjDecompress2(handle, content, ctypes.c_ulong(len(content)), pixels, width, 0, height, 6, 0) == 0
            places = [(y, x) for y in (height // 4, height * 3 // 4) for x in (width // 4, width * 3 // 4)]
            print(*[round(pixels.raw[y * width + x] / 80) for y, x in places])
        """

    private static func python(_ arguments: [String]) throws -> String {
        let done = try FinishedProcess("python3", ["-c", self.script] + arguments)
        try #require(done.status == 0, "\(done.errors)")
        return done.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func make(_ path: String, width: Int, height: Int) throws {
        _ = try self.python(["make", path, "\(width)", "\(height)"])
    }

    private static let picture: Result<[UInt8], any Error> = Result {
        let folder = try TemporaryFolder()
        try make(folder.path("a.jpg"), width: 640, height: 320)
        return try folder.bytes("a.jpg")
    }

    private static func thumbnail(of path: String, size: Int, orientation: Int = 1) throws -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        return try MediaProcess(for: .smallJPEGs, BlobContext())
            .thumbnail(of: file, size: size, orientation: orientation)
    }

    /// TIFF 6.0, tag 274. The sizes decode to all, a half, a quarter and an eighth.
    @Test(
        .enabled(if: isLinux && hasLibrary),
        arguments: ["0 1 2 3", "1 0 3 2", "3 2 1 0", "2 3 0 1", "0 2 1 3", "2 0 3 1", "3 1 2 0", "1 3 0 2"].enumerated()
            .map { ($0 + 1, $1) })
    func oneIsUpright(orientation: Int, corners: String) async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let picture = try folder.write(Self.picture.get(), to: "a.jpg")
            let sizes = [640, 160, 80, 40]
            let small = try sizes.flatMap { size in
                let bytes = try #require(try Self.thumbnail(of: picture, size: size, orientation: orientation))
                let (width, height) = orientation < 5 ? (size, size / 2) : (size / 2, size)
                return [try folder.write(bytes, to: "\(size).jpg"), "\(width)", "\(height)"]
            }
            let found = try Self.python(["read"] + small).split(separator: "\n").map(String.init)
            #expect(found == sizes.map { _ in corners }, "\(sizes)")
        }
    }

    @Test(.enabled(if: isLinux && hasLibrary)) func narrowOnesKeepAPixelAndSmallOnesTheirSize() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let picture = folder.path("a.jpg")
            for (from, to) in [((2000, 2), (256, 1)), ((2, 2000), (1, 256)), ((20, 10), (20, 10)), ((1, 1), (1, 1))] {
                try Self.make(picture, width: from.0, height: from.1)
                let bytes = try #require(try Self.thumbnail(of: picture, size: 256))
                let facts = MediaDescription(HeaderBytes(Array(bytes)))
                #expect(facts.pixelWidth == to.0 && facts.pixelHeight == to.1)
            }
        }
    }

    @Test(.enabled(if: isLinux && hasLibrary)) func whatItDoesNotDecodeIsDeclined() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let bytes = try Self.picture.get()
            let profile: [UInt8] =
                [0xFF, 0xE2, 0, 20] + Array("ICC_PROFILE\0".utf8) + [UInt8](repeating: 1, count: 6)
            // Fill bytes may stand before a marker.
            var others: [[UInt8]] = ([[], [0xFF, 0xFF]] as [[UInt8]]).map { fill in
                var other = bytes
                other.insert(contentsOf: fill + profile, at: 2)
                return other
            }
            others += [Array(bytes.prefix(bytes.count / 2)), Array(bytes.prefix(20)), [], Pictures.picture]
            for other in others {
                #expect(try Self.thumbnail(of: folder.write(other, to: "other.jpg"), size: 256) == nil)
            }
        }
    }
}
#endif
