import BlobCore
import BlobHelper
import Foundation
import HelperExchange

/// A process of `blob-media-helper`, which decodes pictures of strangers; for any number of files. Has one owner.
///
/// It has neither files but those that it is sent, nor network, and on Linux only the system calls that it needs.
final class MediaProcess {
    /// The default limit of the memory that decoding may take, in bytes, beyond that of the program and its libraries.
    static let memoryByteCount = 512 << 20

    static let location = HelperLocation("blob-media-helper", variable: "BLOB_MEDIA_HELPER")

    /// The limits of one command. A picture of 100 megapixels takes some seconds.
    static let limits = {
        var limits = HelperLimits()
        limits.processorTime = 60_000
        limits.silence = .seconds(20)
        return limits
    }()

    /// The version of the library that it runs.
    let libraryVersion: String
    let process: HelperProcess

    /// Starts a helper.
    ///
    /// - Parameters:
    ///   - path: The path of the program; nil to look for it.
    ///   - variables: Further variables of its environment.
    ///   - fault: A fault for tests.
    /// - Throws: ``BlobError/Code/unavailable`` when there is no helper, it is of another version, its library is
    ///   missing, or the system does not confine it and the context does not allow that; the errors of
    ///   ``HelperProcess``.
    init(
        for task: MediaTask, at path: String? = nil, memoryByteCount: Int = memoryByteCount,
        limits: HelperLimits = limits, variables: [String] = [], fault: String? = nil, _ context: BlobContext
    ) throws(BlobError) {
        guard let found = Self.location.find(path) else {
            throw BlobError(
                .unavailable, "Media is decoded by a helper process, and \(Self.location.searched(path)).",
                isTransient: false)
        }
        let arguments = [task.rawValue, String(memoryByteCount)] + [fault].compactMap { $0 }
        self.process = try HelperProcess(found, arguments, variables: variables, limits: limits, context)
        if let missing = try self.process.confinement().missing, !context.allowsUnconfinedMedia {
            throw BlobError(
                .unavailable, "Media is decoded by a helper process, and the system does not confine it: \(missing).",
                isTransient: false)
        }
        let answer: ExchangeFrame
        do throws(BlobError) {
            answer = try self.process.answer(
                to: ExchangeFrame(.open, a: ExchangeFrame.version), [.opened], Self.needsNothing)
        } catch  where error.code == .corrupted {
            throw BlobError(
                .unavailable, "The helper \(found) cannot be used: \(error.message)", isTransient: false, cause: error)
        }
        guard answer.kind == .opened else { throw Self.error(answer, "Media cannot be decoded") }
        guard answer.a == ExchangeFrame.version else {
            throw BlobError(
                .unavailable, "The helper \(found) has another version of the protocol.", isTransient: false)
        }
        self.libraryVersion = String(decoding: answer.payload, as: UTF8.self)
    }

    /// Refuses questions for bytes: files are sent whole.
    static func needsNothing(_ byteOffset: Int64, _ count: Int) throws(BlobError) -> Int {
        throw BlobError(.corrupted, "The helper asked for bytes of a file that it has.")
    }

    /// Creates the error for an answer that says one.
    ///
    /// - Parameter act: The beginning of the message: `The thumbnail cannot be made`.
    static func error(_ answer: ExchangeFrame, _ act: String) -> BlobError {
        let text = String(decoding: answer.payload, as: UTF8.self)
        return switch ExchangeFrame.Failure(rawValue: answer.a) {
        case .library: BlobError(.corrupted, "\(act): \(text)")
        case .unavailable: BlobError(.unavailable, "\(act): \(text)", isTransient: false)
        case .limit: BlobError(.limitExceeded, "\(act) within the memory of the helper: \(text)")
        case .truncated: BlobError(.truncated, "\(act): the file ends too early: \(text)")
        case nil: BlobError(.corrupted, "\(act): the helper gave an answer that makes no sense.")
        }
    }
}
