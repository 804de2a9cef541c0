import BlobCore
import BlobIndex
import CryptoDigest
import Foundation

/// The thumbnails that file managers keep (freedesktop.org, Thumbnail Managing Standard 0.9).
enum DesktopThumbnails {
    /// Returns the thumbnail of a file if it was made of its current content, and has the full size; nil otherwise.
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
        let bytes = thumbnail.headerBytes
        let media = MediaDescription(bytes)
        let texts = PNGTexts(bytes).texts
        guard media.mediaType == "image/png", let width = media.pixelWidth, let height = media.pixelHeight,
            max(width, height) == size.rawValue, texts["Thumb::URI"] == uri,
            texts["Thumb::MTime"] == String(file.snapshot.modificationSeconds)
        else { return nil }
        return bytes.bytes(at: 0, count: Int(bytes.byteCount)).map { Data($0) }
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
