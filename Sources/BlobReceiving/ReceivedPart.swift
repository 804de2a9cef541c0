import BlobCore
import BlobPlatform

/// A part that has arrived completely, reported as one line of JSON for people and programs.
package struct ReceivedPart: Codable, Equatable, Sendable {
    /// The last component of the path for a raw body, the name of the field for a part of a form.
    package var name: String
    /// The file name that the sender gave; only parts of forms have one.
    package var filename: String?
    package var mediaType: String?
    package var byteCount: Int64
    /// The digest in lower-case hexadecimal.
    package var sha256: String
    /// The path of the file; nil if the part was not stored.
    package var file: String?

    package init(
        name: String, filename: String? = nil, mediaType: String? = nil, byteCount: Int64, sha256: String,
        file: String? = nil
    ) {
        self.name = name
        self.filename = filename
        self.mediaType = mediaType
        self.byteCount = byteCount
        self.sha256 = sha256
        self.file = file
    }

    private enum CodingKeys: String, CodingKey {
        case name, filename, sha256, file
        case mediaType = "media_type"
        case byteCount = "byte_count"
    }

    /// The line of JSON, without its line end.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and numbers cannot fail to be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
