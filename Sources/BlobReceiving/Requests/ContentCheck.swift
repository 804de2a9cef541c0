import BlobCore
import BlobTransfer

/// Compares arriving bytes with all digests that the sender states for them.
struct ContentCheck {
    private var checks: [(check: StatedDigestCheck, origin: String)]

    /// Creates a check to which no bytes have been added. Ignores digests whose algorithms are unavailable.
    init(_ digests: [BlobStatedDigest]) {
        self.checks = digests.compactMap { digest in StatedDigestCheck([digest]).map { ($0, digest.origin) } }
    }

    /// True if there are no digests to compare.
    var isEmpty: Bool { self.checks.isEmpty }

    /// Adds the next bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for index in self.checks.indices {
            self.checks[index].check.append(bytes, at: self.checks[index].check.reachedOffset)
        }
    }

    /// Compares all digests. This must be the last call.
    ///
    /// - Throws: A refusal with 400 for a digest that does not match, or with 460 for the checksum of a tus request.
    mutating func finish() throws(BlobError) {
        for index in self.checks.indices {
            do throws(BlobError) {
                _ = try self.checks[index].check.finish()
            } catch {
                throw RequestRefusal.uploadError(
                    self.checks[index].origin == "Upload-Checksum" ? 460 : 400, error.message)
            }
        }
    }
}

/// The digests stated in a request.
struct RequestDigests: Sendable {
    /// The digests of the representation, which is the whole upload if the request creates a resumable upload.
    let representation: [BlobStatedDigest]
    /// The digests of this request's content only.
    let content: [BlobStatedDigest]

    init(_ fields: some Sequence<RequestHead.Field>) {
        func digests(_ name: String) -> [BlobStatedDigest] {
            BlobStatedDigest.list(name, fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value))
        }
        self.representation = BlobStatedDigest.representationFields.flatMap(digests)
        self.content = BlobStatedDigest.contentFields.flatMap(digests)
    }

    /// All digests that the content must match, in a request that does not create a resumable upload.
    var all: [BlobStatedDigest] { self.representation + self.content }
}
