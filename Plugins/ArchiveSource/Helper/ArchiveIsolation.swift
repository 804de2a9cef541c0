package import BlobCore
import BlobHelper
import HelperExchange

/// The process that decodes archives whose decoders may crash or loop.
///
/// These are archives in the ``ArchiveFormat/helperFormats``, and 7z archives with rare coders: all coders except
/// LZMA, LZMA2, BZip2, Deflate, the filters Delta and BCJ, and AES.
///
/// By default, archives are decoded in a separate process, the program `blob-archive-helper`, which has no access to
/// files or the network, uses at most 256 MiB of memory for decoding, and on Linux may make only the system calls that
/// it needs. If the system cannot confine the helper, ``helper`` throws ``BlobError/Code/unsupported`` before the
/// process receives any bytes, and ``helperIfFound`` uses the helper anyway; ``BlobEvent/Kind/helperStarted`` reports
/// either case. The helper receives the bytes of the archive from this process, so any source works. An archive throws
/// ``BlobError/Code/corrupted`` if its decoder crashes or computes for 3 seconds without progress,
/// ``BlobError/Code/limitExceeded`` if it needs too much memory, and ``BlobError/Code/timedOut`` if the helper does not
/// respond for a minute. The helper exits when the reader is closed, when the job is cancelled or times out, and when
/// this process exits.
///
/// Starting the helper adds about 3 milliseconds to opening an archive. Bytes pass through memory shared by both
/// processes.
public struct ArchiveIsolation: Hashable, Sendable {
    enum Place: Hashable {
        /// A helper at a path; nil to search for the helper. The arguments are for tests.
        case helper(path: String?, arguments: [String])
        case helperIfFound
        case inProcess
    }

    let place: Place

    /// A helper process.
    ///
    /// The program is at the path in the environment variable `BLOB_ARCHIVE_HELPER`. If the variable is not set, it is
    /// the program `blob-archive-helper` beside the running executable, or else in a folder of `PATH`.
    ///
    /// If no helper is found, archives that need one throw ``BlobError/Code/unsupported``.
    public static let helper = Self(place: .helper(path: nil, arguments: []))

    /// Returns the helper at a path; archives throw ``BlobError/Code/unsupported`` if the program does not exist.
    public static func helper(at path: String) -> Self { Self(place: .helper(path: path, arguments: [])) }

    /// The same helper as ``helper``, or this process if no helper is found.
    public static let helperIfFound = Self(place: .helperIfFound)

    /// This process, which a damaged archive may crash or leave with a thread that never ends.
    ///
    /// A job that is cancelled or times out abandons its thread, which ends when libarchive returns. While four such
    /// threads exist, opening further archives throws ``BlobError/Code/limitExceeded``. Memory is not limited.
    public static let inProcess = Self(place: .inProcess)

    static func helper(at path: String, fault: String) -> Self {
        Self(place: .helper(path: path, arguments: [fault]))
    }

    /// Returns a walker over an archive that is decoded with this isolation.
    func walker(
        of format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        switch self.place {
        case .helper(let path, let arguments):
            guard let found = HelperLocation.archives.find(path) else {
                throw format.missingHelperError(
                    HelperLocation.archives.searchDescription(path),
                    readable: "in this process, at the risk that a damaged archive harms it")
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
    /// The formats to which ``ArchiveIsolation`` applies: ``helperFormats``, and 7z for its rare coders.
    package static let isolated = Self.helperFormats.union([.sevenzip])

    /// Starts a helper, and returns a description of how the system confines it.
    package static func helperConfinement(_ context: BlobContext) throws(BlobError) -> String {
        guard let path = HelperLocation.archives.find() else {
            return "none: \(HelperLocation.archives.searchDescription())"
        }
        let confinement = try HelperProcess(path, [Self.xar.rawValue], context).confinement()
        return self.helperConfinement(missing: HelperConfinement.all.subtracting(confinement).rawValue)
    }

    /// Returns a description of how the system confines a helper, from the value of ``BlobEvent/Kind/helperStarted``.
    package static func helperConfinement(missing: Int64) -> String {
        HelperConfinement.all.subtracting(HelperConfinement(rawValue: missing)).missingConfinement
            .map { "not confined by the system: \($0)" } ?? "confined"
    }

    /// Returns the error for an archive whose helper process is missing or must not be used.
    ///
    /// - Parameters:
    ///   - obstacle: The reason, as the end of a sentence.
    ///   - way: The way to read the archives without a helper, or with this one.
    func missingHelperError(_ obstacle: String, readable way: String) -> BlobError {
        let what =
            self.needsHelper
            ? "Archives of the format \(self.rawValue)"
            : "Members of a 7z archive that use rare coders, such as PPMd or BCJ2,"
        return BlobError(
            .unsupported,
            "\(what) are read by a helper process, but \(obstacle). They can be read \(way), if that is allowed.",
            remedy: .formatInProcess(self.rawValue))
    }
}

extension HelperLocation {
    /// The location of the program that reads archives.
    static let archives = HelperLocation("blob-archive-helper", variable: "BLOB_ARCHIVE_HELPER")
}
