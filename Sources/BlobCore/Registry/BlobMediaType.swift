import BlobPlatform

/// The media types for the file name extensions and signatures that are most common in forms and on servers.
public enum BlobMediaType {
    /// The media type of a file of unknown content (HTML standard, and RFC 2046, section 4.5.1).
    public static let unknown = "application/octet-stream"

    private static let mediaTypesByExtension = [
        "7z": "application/x-7z-compressed", "avif": "image/avif", "bmp": "image/bmp", "csv": "text/csv",
        "css": "text/css", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif",
        "htm": "text/html", "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
        "json": "application/json", "m4a": "audio/mp4", "mov": "video/quicktime", "mp3": "audio/mpeg",
        "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
        "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff", "txt": "text/plain",
        "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "xml": "application/xml",
        "zip": "application/zip",
    ]

    /// Returns the media type for the extension after the last dot of a name; nil if the extension is not in the table.
    public static func mediaType(ofFileName fileName: String) -> String? {
        guard let dot = fileName.lastIndex(of: ".") else { return nil }
        return self.mediaTypesByExtension[fileName[fileName.index(after: dot)...].lowercased()]
    }

    /// The number of bytes that ``mediaType(of:)`` examines.
    public static let signatureByteCount = 12

    private static let signatures: [(offset: Int, bytes: [UInt8], mediaType: String)] = [
        (0, [0xFF, 0xD8, 0xFF], "image/jpeg"), (0, [0x89] + Array("PNG\r\n\u{1A}\n".utf8), "image/png"),
        (0, Array("GIF87a".utf8), "image/gif"), (0, Array("GIF89a".utf8), "image/gif"),
        (0, [0x49, 0x49, 0x2A, 0x00], "image/tiff"), (0, [0x4D, 0x4D, 0x00, 0x2A], "image/tiff"),
        (0, Array("%PDF-".utf8), "application/pdf"), (0, [0x50, 0x4B, 0x03, 0x04], "application/zip"),
        (0, [0x1F, 0x8B, 0x08], "application/gzip"),
        (0, Array("7z".utf8) + [0xBC, 0xAF, 0x27, 0x1C], "application/x-7z-compressed"),
        (8, Array("WEBP".utf8), "image/webp"), (8, Array("WAVE".utf8), "audio/wav"),
        (4, Array("ftypheic".utf8), "image/heic"), (4, Array("ftypheix".utf8), "image/heic"),
        (4, Array("ftypmif1".utf8), "image/heif"), (4, Array("ftypavif".utf8), "image/avif"),
        (4, Array("ftypqt  ".utf8), "video/quicktime"), (4, Array("ftypM4A ".utf8), "audio/mp4"),
        (4, Array("ftypisom".utf8), "video/mp4"), (4, Array("ftypiso2".utf8), "video/mp4"),
        (4, Array("ftypmp41".utf8), "video/mp4"), (4, Array("ftypmp42".utf8), "video/mp4"),
        (4, Array("ftypM4V ".utf8), "video/mp4"), (0, Array("ID3".utf8), "audio/mpeg"),
    ]

    /// Returns the media type of a file that begins with these bytes; nil if no signature matches.
    public static func mediaType(of bytes: UnsafeRawBufferPointer) -> String? {
        self.signatures.first { bytes.dropFirst($0.offset).starts(with: $0.bytes) }?.mediaType
    }

    /// Returns the media type found at the beginning of a source; nil if no type was found, or if the source cannot be
    /// read twice. Reading the body reports any error.
    public static func mediaType(
        byBeginningOf source: any BlobInputStreamDataSource, _ context: BlobContext
    ) -> String? {
        guard source.traits.contains(.repeatable), let reader = try? source.open(context: context) else { return nil }
        defer { reader.close() }
        var bytes = [UInt8](repeating: 0, count: self.signatureByteCount)
        return try? bytes.withUnsafeMutableBytes { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            while output.freeCapacity > 0, try reader.readBlocking(into: &output) == .bytes {}
            return self.mediaType(of: UnsafeRawBufferPointer(rebasing: buffer[..<output.finalize(for: buffer)]))
        }
    }
}
