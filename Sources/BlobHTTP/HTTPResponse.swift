import BlobStreams
import Foundation

/// What a server answered.
package struct HTTPResponse: Sendable {
    /// So much of the body is kept: enough for what went wrong.
    package static let maximumBodyByteCount = 64 * 1024

    package let status: Int
    package let reason: String
    package let fields: [HTTPUpload.Field]

    /// The beginning of the body, at most ``maximumBodyByteCount`` bytes; empty when it went elsewhere.
    package let body: Data

    /// The first value of a field, whatever its case.
    package func value(of name: String) -> String? {
        self.fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The cause of ``BlobError/Code/refused``: all that the server said.
package struct HTTPRefusal: Error {
    package let response: HTTPResponse
}
