#if Photos
import BlobCore
import BlobHelper
import HelperExchange

/// A reader of the metadata of many files, which starts a helper for the first picture. Has one owner.
final class FactReader {
    /// The reason why no helper is available; nil unless a helper was needed and not found.
    private(set) var missingHelperError: BlobError?
    private var process: MediaProcess?
    private let path: String?
    private let context: BlobContext

    /// - Parameter path: The path of the helper; nil to search for it.
    init(path: String? = nil, _ context: BlobContext) { (self.path, self.context) = (path, context) }

    /// Describes a file by its headers, and also by its metadata if a helper is available.
    ///
    /// - Returns: The description, and true unless a helper may add to it later. If the metadata is damaged, the
    ///   description contains the facts from the headers.
    /// - Throws: ``BlobError/Code/cancelled`` and ``BlobError/Code/timedOut`` of the context. After any other error,
    ///   the description contains the facts from the headers.
    func describe(_ file: OriginalFile) throws(BlobError) -> (media: MediaDescription, isWhole: Bool) {
        var media = MediaDescription(file.headerBytes)
        let format = MediaFormat(signature: file.headerBytes.prefix(MediaFormat.signatureByteCount))
        guard format?.hasFacts == true else { return (media, true) }
        guard self.missingHelperError == nil else { return (media, false) }
        do throws(BlobError) {
            media.add(try self.runningProcess().facts(of: file.descriptor, byteCount: file.snapshot.byteCount))
            return (media, true)
        } catch {
            try self.context.check()
            // After a crash of the helper, the next file uses a new helper.
            if self.process?.failure != nil { self.process = nil }
            if error.code == .unavailable { self.missingHelperError = error }
            return (media, error.code == .corrupted || error.code == .limitExceeded)
        }
    }

    private func runningProcess() throws(BlobError) -> MediaProcess {
        if let process { return process }
        let process = try MediaProcess(for: .facts, at: self.path, self.context)
        self.process = process
        return process
    }
}

extension OriginalFile {
    /// The bytes of the file, for header parsers.
    var headerBytes: HeaderBytes {
        HeaderBytes(byteCount: self.snapshot.byteCount) { offset, buffer in
            (try? self.fill(buffer, at: offset)) ?? 0
        }
    }
}
#endif
