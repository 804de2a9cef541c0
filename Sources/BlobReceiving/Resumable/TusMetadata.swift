import BlobCore
import BlobPlatform

/// The value of `Upload-Metadata`: pairs of a key and a value in base64, separated by commas.
struct TusMetadata {
    private let values: [String: String]

    /// - Throws: A refusal with 400 for a malformed text, and for a key that occurs twice.
    init(_ text: String) throws(BlobError) {
        var values: [String: String] = [:]
        for pair in text.split(separator: ",") {
            let words = pair.split(separator: " ")
            guard (1...2).contains(words.count),
                let value = Data(base64Encoded: words.count > 1 ? String(words[1]) : ""),
                values.updateValue(String(decoding: value, as: UTF8.self), forKey: String(words[0])) == nil
            else { throw UploadRefusal.error(400, "The Upload-Metadata has pairs of a key and a value in base64.") }
        }
        self.values = values
    }

    /// The value of a key; nil if there is none, or an empty one.
    subscript(_ key: String) -> String? { self.values[key].flatMap { $0.isEmpty ? nil : $0 } }
}
