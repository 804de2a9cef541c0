/// The media types of the file name extensions that are most common in forms.
///
/// For any other type, pass a media type when you append the part.
package enum MediaType {
    /// The media type of a file of unknown content (HTML standard, and RFC 2046, section 4.5.1).
    package static let unknown = "application/octet-stream"

    private static let byExtension = [
        "7z": "application/x-7z-compressed", "avif": "image/avif", "bmp": "image/bmp", "csv": "text/csv",
        "css": "text/css", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif",
        "htm": "text/html", "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
        "json": "application/json", "m4a": "audio/mp4", "mov": "video/quicktime", "mp3": "audio/mpeg",
        "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
        "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff", "txt": "text/plain",
        "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "xml": "application/xml",
        "zip": "application/zip",
    ]

    /// Returns the media type for the extension after the last dot of a name; nil if it is not in the table.
    package static func named(_ fileName: String) -> String? {
        guard let dot = fileName.lastIndex(of: ".") else { return nil }
        return self.byExtension[fileName[fileName.index(after: dot)...].lowercased()]
    }
}
