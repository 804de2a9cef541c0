import BlobCore
import BlobTransfer

/// The comparison of bytes that arrive with all digests that a sender states of them.
struct ContentCheck {
    private var checks: [(check: StatedDigestCheck, origin: String)]

    /// Starts with no bytes. Digests of algorithms that are not available are ignored.
    init(_ digests: [BlobStatedDigest]) {
        self.checks = digests.compactMap { digest in StatedDigestCheck([digest]).map { ($0, digest.origin) } }
    }

    /// True when there is nothing to compare with.
    var isEmpty: Bool { self.checks.isEmpty }

    /// Adds the next bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for index in self.checks.indices {
            self.checks[index].check.append(bytes, at: self.checks[index].check.reached)
        }
    }

    /// Compares all digests. Must be the last call.
    ///
    /// - Throws: A refusal with 400 for a digest that differs, or with the status that tus has for it.
    mutating func finish() throws(BlobError) {
        for index in self.checks.indices {
            do throws(BlobError) {
                _ = try self.checks[index].check.finish()
            } catch {
                throw RequestRefusal.error(self.checks[index].origin == "Upload-Checksum" ? 460 : 400, error.message)
            }
        }
    }
}

/// The digests that a request states.
struct RequestDigests: Sendable {
    /// The digests of the representation: of the whole upload, if the request creates a resumable one.
    let representation: [BlobStatedDigest]
    /// The digests of the content of this request alone.
    let content: [BlobStatedDigest]

    init(_ fields: some Sequence<RequestAnswer.Field>) {
        func digests(_ name: String) -> [BlobStatedDigest] {
            BlobStatedDigest.list(name, fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value))
        }
        self.representation = BlobStatedDigest.representationFields.flatMap(digests)
        self.content = BlobStatedDigest.contentFields.flatMap(digests)
    }

    /// The digests of the content of a request that creates no resumable upload.
    var all: [BlobStatedDigest] { self.representation + self.content }
}
