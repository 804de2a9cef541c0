import BlobCore

/// The bytes that came out of a source, and how they ended.
struct Outcome: Equatable {
    /// The number of bytes after which no more are read: a few compressed bytes may hold millions.
    static let maximumByteCount = 1 << 20

    var bytes: [UInt8] = []
    var code: BlobError.Code?
    /// True when there may be more bytes than were read.
    var isCut = false

    /// True when the end was reported.
    var isWhole: Bool { self.code == nil && !self.isCut }

    /// Reads a source to its end or to the limit.
    ///
    /// - Throws: ``FuzzFailure`` for an error that is no fault of the input.
    init(
        of source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0, pieceByteCount: Int = 4096,
        atMost limit: Int = Self.maximumByteCount
    ) throws {
        do {
            let reader = try source.open(at: byteOffset)
            defer { reader.close() }
            var piece = [UInt8](repeating: 0, count: pieceByteCount)
            while self.bytes.count < limit {
                let count = try piece.withUnsafeMutableBytes { try reader.readBlocking(into: $0) }
                guard count > 0 else { return }
                self.bytes += piece.prefix(count)
            }
            (self.isCut, self.bytes) = (true, Array(self.bytes.prefix(limit)))
        } catch {
            self.code = try faultOfInput(error)
        }
    }

    /// True when one begins as the other, as far as both go.
    func agrees(with bytes: some Collection<UInt8>) -> Bool {
        zip(self.bytes, bytes).allSatisfy { $0 == $1 }
    }
}

/// Returns the code of an error.
///
/// - Throws: ``FuzzFailure`` for an error that is no fault of the input.
@discardableResult func faultOfInput(_ error: any Error) throws -> BlobError.Code {
    guard let error = error as? BlobError else { throw FuzzFailure(description: "Not a BlobError: \(error)") }
    let faults: Set<BlobError.Code> = [
        .notFound, .invalidArgument, .unsupported, .corrupted, .truncated, .checksumMismatch, .sizeMismatch,
        .trailingData, .encrypted, .ambiguousMember, .inconsistent, .limitExceeded,
        // An index that tells of another length.
        .changed,
    ]
    try require(faults.contains(error.code), "No fault of the input: \(error)")
    return error.code
}

/// A rule that some input broke.
package struct FuzzFailure: Error, CustomStringConvertible {
    package let description: String
}

/// - Throws: ``FuzzFailure`` when the condition does not hold.
func require(_ condition: Bool, _ rule: @autoclosure () -> String) throws {
    if !condition { throw FuzzFailure(description: rule()) }
}
