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
}
