import BlobCore
import BlobHelper
import Foundation
import HelperExchange

extension MediaProcess {
    /// The largest file whose facts are read, in bytes: the helper maps it.
    static let factsByteLimit: Int64 = 256 << 20

    /// Returns the facts that a picture's Exif, XMP and IPTC tell.
    ///
    /// - Parameters:
    ///   - file: The open file, for reading.
    ///   - byteCount: Its length.
    /// - Throws: ``BlobError/Code/corrupted`` when there is no metadata that can be read, or it crashes the helper,
    ///   ``BlobError/Code/limitExceeded`` for a file of more than ``factsByteLimit`` bytes; the errors of
    ///   ``HelperProcess``.
    func facts(of file: CInt, byteCount: Int64) throws(BlobError) -> MediaFacts {
        guard byteCount <= Self.factsByteLimit else {
            throw BlobError(
                .limitExceeded, "Facts are read of files of at most \(Self.factsByteLimit) bytes, not \(byteCount).")
        }
        let act = "The facts of the file cannot be read"
        let answer = try self.process.answer(
            to: ExchangeFrame(.facts, a: byteCount), descriptors: [file], [.facts], Self.needsNothing)
        guard answer.kind == .facts else { throw Self.error(answer, act) }
        guard let facts = MediaFacts(encoded: answer.payload) else {
            throw BlobError(.corrupted, "\(act): the helper gave an answer that makes no sense.")
        }
        return facts
    }
}
