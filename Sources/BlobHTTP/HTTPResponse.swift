import BlobCore
import BlobTransfer
package import Foundation

/// The answer of a server.
package struct HTTPResponse: Sendable {
    /// The maximum number of bytes of the body that are kept, enough for an error message.
    package static let maximumBodyByteCount = 64 * 1024

    package let status: Int
    package let reason: String
    package let fields: [HTTPUpload.Field]

    /// The beginning of the body, at most ``maximumBodyByteCount`` bytes; empty if ``HTTPUpload/onAnswer`` received it.
    package let body: Data

    /// Returns the first value of a field, whose name is compared without regard to case.
    package func value(of name: String) -> String? {
        self.fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The cause of ``BlobError/Code/refused``, with the answer of the server.
package struct HTTPRefusal: Error {
    package let response: HTTPResponse
}
