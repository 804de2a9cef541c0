package import BlobCore
import BlobHelper
import HelperExchange

/// The place where archives of ``ArchiveFormat/foreign`` formats are decoded, whose decoders may crash or loop, and
/// those 7z that use rare coders: others than LZMA, LZMA2, BZip2, Deflate, the filters Delta and BCJ, and AES.
///
/// By default this is a process of its own, the program `blob-archive-helper`, which has neither files nor network, at
/// most 256 MiB of memory for decoding, and on Linux only the system calls that it needs. Where the system does not grant
/// that, ``helper`` throws ``BlobError/Code/unsupported`` before the process gets any byte, and ``helperIfFound`` uses it
/// nevertheless; ``BlobEvent/Kind/helperStarted`` reports either. It gets the bytes of the
/// archive from this process, so that any source works. An archive on which the decoder crashes, or computes for 3
/// seconds without progress, is ``BlobError/Code/corrupted``; one that takes too much memory is
/// ``BlobError/Code/limitExceeded``; one whose helper is silent for a minute is ``BlobError/Code/timedOut``. The helper
/// ends with the reader, with a cancelled or late job, and with this process.
///
/// Opening an archive takes about 3 milliseconds for the start of the helper. Bytes come through memory that both
/// processes share.
public struct ArchiveIsolation: Hashable, Sendable {
    enum Place: Hashable {
        /// A helper; nil to look for it. The arguments are for tests.
        case helper(path: String?, arguments: [String])
        case helperIfFound
        case inProcess
    }

    let place: Place

    /// A helper: the path in the environment variable `BLOB_ARCHIVE_HELPER`, else the program `blob-archive-helper`
    /// beside the running executable, else in a folder of `PATH`.
    ///
    /// When there is none, such archives throw ``BlobError/Code/unsupported``.
    public static let helper = Self(place: .helper(path: nil, arguments: []))

    /// Returns the helper at a path; when it does not exist, archives throw ``BlobError/Code/unsupported``.
    public static func helper(at path: String) -> Self { Self(place: .helper(path: path, arguments: [])) }

    /// A helper, as ``helper``; this process when there is none.
    public static let helperIfFound = Self(place: .helperIfFound)

    /// This process: a damaged archive may crash it, or leave a thread behind that computes for ever.
    ///
    /// A job that is cancelled or times out abandons its thread until libarchive returns. While there are four such
    /// threads, opening further archives throws ``BlobError/Code/limitExceeded``. The memory is not limited.
    public static let inProcess = Self(place: .inProcess)

    static func helper(at path: String, fault: String) -> Self {
        Self(place: .helper(path: path, arguments: [fault]))
    }

    /// Returns a walker over an archive that is decoded at the place.
    func walker(
        of format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        switch self.place {
        case .helper(let path, let arguments):
            guard let found = HelperLocation.archives.find(path) else {
                throw format.isWithoutHelper(
                    HelperLocation.archives.searched(path),
                    readable: "in this process, whatever a damaged one does to it")
            }
            return try HelperWalker(format, over: base, context, found, arguments, needsConfinement: true)
        case .helperIfFound:
            if let found = HelperLocation.archives.find() {
                return try HelperWalker(format, over: base, context, found, needsConfinement: false)
            }
            return try AbandonableWalker(format, over: base, context)
        case .inProcess: return try AbandonableWalker(format, over: base, context)
        }
    }
}

extension ArchiveFormat {
    /// The formats whose archives, or some of them, are decoded where ``ArchiveIsolation`` says: the foreign ones, and
    /// 7z for its rare coders.
    package static let isolated = Self.foreign.union([.sevenzip])

    /// Returns how the system confines the helper, in words, by starting one.
    package static func helperConfinement(_ context: BlobContext) throws(BlobError) -> String {
        guard let path = HelperLocation.archives.find() else { return "none: \(HelperLocation.archives.searched())" }
        let confinement = try HelperProcess(path, [Self.xar.rawValue], context).confinement()
        return self.helperConfinement(missing: HelperConfinement.all.subtracting(confinement).rawValue)
    }

    /// Returns how the system confines a helper, in words, from the value of ``BlobEvent/Kind/helperStarted``.
    package static func helperConfinement(missing: Int64) -> String {
        HelperConfinement.all.subtracting(HelperConfinement(rawValue: missing)).missing
            .map { "not confined by the system: \($0)" } ?? "confined"
    }

    /// Returns the error for a format whose archives no helper process reads.
    ///
    /// - Parameters:
    ///   - obstacle: The reason, as the end of a sentence.
    ///   - way: How the archives can be read without a helper, or with this one.
    func isWithoutHelper(_ obstacle: String, readable way: String) -> BlobError {
        let what =
            self.isForeign
            ? "Archives of the format \(self.rawValue)" : "Members of a 7z in rare coders, such as PPMd and BCJ2,"
        return BlobError(
            .unsupported,
            "\(what) are read by a helper process, and \(obstacle). They can be read \(way), if that is allowed.",
            remedy: .formatInProcess(self.rawValue))
    }
}

extension HelperLocation {
    /// The program that reads archives.
    static let archives = HelperLocation("blob-archive-helper", variable: "BLOB_ARCHIVE_HELPER")
}
