import BlobCore
import BlobPlatform
import Crypto

/// The digests of a body by which a store verifies it.
struct PartDigests: Equatable, Sendable {
    private static let bufferByteCount = 256 * 1024

    /// The SHA-256, which is signed, in hexadecimal digits.
    let sha256: String
    /// The MD5: the entity tag of parts and objects that are not encrypted.
    let md5: [UInt8]
    let byteCount: Int64

    /// Digests the content of a source, on this thread.
    ///
    /// - Throws: The errors of the source, ``BlobError/Code/changed`` among them.
    init(
        of source: any BlobInputStreamDataSource, matching validator: BlobValidator?, _ context: BlobContext
    ) throws(BlobError) {
        let reader = try source.open(matching: validator, context: context)
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferByteCount, alignment: 16)
        defer { buffer.deallocate() }
        var (sha256, md5, byteCount) = (SHA256(), Insecure.MD5(), Int64(0))
        do {
            while case let count = try reader.readWaiting(into: buffer), count > 0 {
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                sha256.update(bufferPointer: bytes)
                md5.update(bufferPointer: bytes)
                byteCount += Int64(count)
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        (self.sha256, self.md5) = (Array(sha256.finalize()).hexadecimal, Array(md5.finalize()))
        self.byteCount = byteCount
    }

    init(of bytes: Data) {
        self.sha256 = Array(SHA256.hash(data: bytes)).hexadecimal
        (self.md5, self.byteCount) = (Array(Insecure.MD5.hash(data: bytes)), Int64(bytes.count))
    }

    /// The value of a `Content-MD5` field.
    var contentMD5: String { Data(self.md5).base64EncodedString() }
}

/// The entity tags of stores, as they stand between quotes.
enum EntityTag {
    /// Returns the text of a tag, without quotes.
    static func text(_ tag: String) -> String { tag.filter { $0 != "\"" } }

    /// Returns true for 32 hexadecimal digits, which are the MD5 of a part that is not encrypted.
    static func isMD5(_ tag: String) -> Bool {
        let text = self.text(tag)
        return text.utf8.count == 32 && text.allSatisfy(\.isHexDigit)
    }

    /// Returns the tag of an object of parts with these MD5s: the MD5 of all of them, and their number.
    static func combined(_ digests: [[UInt8]]) -> String {
        "\(Array(Insecure.MD5.hash(data: Data(digests.joined()))).hexadecimal)-\(digests.count)"
    }

    /// Returns true when a tag has the form of ``combined(_:)``.
    static func isCombined(_ tag: String) -> Bool {
        let parts = self.text(tag).split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && self.isMD5(String(parts[0])) && Int(parts[1]) != nil
    }
}
