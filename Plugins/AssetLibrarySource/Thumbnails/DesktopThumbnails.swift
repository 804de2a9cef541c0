import BlobCore
import BlobIndex
import CryptoDigest
import Foundation

/// The thumbnails that file managers keep (freedesktop.org, Thumbnail Managing Standard 0.9).
enum DesktopThumbnails {
    /// The chunks that say how a PNG looks; all others, such as texts with the path of the file, are left out.
    private static let visible: Set = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "pHYs",
    ]

    /// Returns the thumbnail of a file, without texts, if it has the full size and was made when the file had its
    /// present modification time; nil otherwise.
    static func find(_ file: OriginalFile, _ size: Thumbnail.Size) -> Data? {
        guard let caches = CachedFiles.userFolder else { return nil }
        let uri = "file://" + (file.path.addingPercentEncoding(withAllowedCharacters: Self.allowed) ?? "")
        var hasher = CryptoDigest.md5.makeHasher()
        Array(uri.utf8).withUnsafeBytes { hasher.update($0) }
        let folder = size == .small ? "large" : "xx-large"
        let path = "\(caches)/thumbnails/\(folder)/\(hasher.finalize().hexadecimal).png"
        guard let thumbnail = try? OriginalFile(path),
            (1...AssetLibrary.thumbnailByteLimit).contains(thumbnail.snapshot.byteCount)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(thumbnail.snapshot.byteCount))
        let count = bytes.withUnsafeMutableBytes { (try? thumbnail.fill($0, at: 0)) ?? 0 }
        let header = HeaderBytes(Array(bytes.prefix(count)))
        let media = MediaDescription(header)
        let texts = PNGTexts(header).texts
        guard media.mediaType == "image/png", let width = media.pixelWidth, let height = media.pixelHeight,
            max(width, height) == size.rawValue, texts["Thumb::URI"] == uri,
            texts["Thumb::MTime"] == String(file.snapshot.modificationSeconds)
        else { return nil }
        return self.withoutTexts(bytes[..<count])
    }

    /// Returns a PNG with its visible chunks alone; nil for one without an end.
    private static func withoutTexts(_ bytes: ArraySlice<UInt8>) -> Data? {
        var (cursor, result) = (ByteCursor(bytes), Data())
        guard let signature = cursor.take(8) else { return nil }
        result += signature
        while true {
            let start = cursor.rest
            guard let length = cursor.number(4), let name = cursor.take(4), cursor.take(Int(length) + 4) != nil else {
                return nil
            }
            let type = String(decoding: name, as: UTF8.self)
            if self.visible.contains(type) { result += start.prefix(Int(length) + 12) }
            if type == "IEND" { return result }
        }
    }

    /// The characters that GLib leaves as they are in the URI of a file.
    private static let allowed = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/")
}

/// The texts of a PNG that are not compressed: the chunks `tEXt` (PNG, third edition, section 11.3.3.2).
private struct PNGTexts {
    private(set) var texts: [String: String] = [:]

    init(_ bytes: HeaderBytes) {
        var offset: Int64 = 8
        while let head = bytes.bytes(at: offset, count: 8) {
            var cursor = ByteCursor(head)
            guard let length = cursor.number(4) else { return }
            let type = String(decoding: cursor.rest, as: UTF8.self)
            if type == "IDAT" || type == "IEND" { return }
            if type == "tEXt", length <= 4096, let content = bytes.bytes(at: offset + 8, count: Int(length)),
                let end = content.firstIndex(of: 0)
            {
                self.texts[String(decoding: content[..<end], as: UTF8.self)] =
                    String(decoding: content[(end + 1)...], as: UTF8.self)
            }
            offset += 12 + Int64(length)
        }
    }
}
