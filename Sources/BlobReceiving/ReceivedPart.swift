import BlobStreams
import Foundation

/// What arrived, whole: one line of JSON, for people and programs.
package struct ReceivedPart: Codable, Equatable, Sendable {
    /// The last component of the path for a raw body, the field for a part of a form.
    package var name: String
    /// As the sender calls the file; only parts of forms have one.
    package var filename: String?
    package var mediaType: String?
    package var byteCount: Int64
    /// In lower-case hexadecimal.
    package var sha256: String
    /// The path, when it was stored.
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

    /// The line, without its end.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Nothing in it can fail to be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
