import BlobCore
import BlobHelper

extension HelperLocation {
    /// The program that reads archives.
    static let archives = HelperLocation("blob-archive-helper", variable: "BLOB_ARCHIVE_HELPER")

    /// The error for a format whose archives are not read without a helper.
    func isMissing(_ path: String?, _ format: ArchiveFormat) -> BlobError {
        BlobError(
            .unsupported,
            "\(format.helped) are read by a helper process, and \(self.searched(path)). They can be read in this process, "
                + "whatever a damaged one does to it, if that is allowed.", remedy: .formatInProcess(format.rawValue))
    }
}

extension ArchiveFormat {
    /// The archives that a helper process reads, for messages.
    fileprivate var helped: String {
        self.isForeign
            ? "Archives of the format \(self.rawValue)" : "Members of a 7z in rare coders, such as PPMd and BCJ2,"
    }

    /// The error for a format whose archives are not read by a helper that is not confined.
    func isUnconfined(_ missing: String) -> BlobError {
        BlobError(
            .unsupported,
            "\(self.helped) are read by a helper process, and the system does not confine it: \(missing). They can be "
                + "read nevertheless, whatever a damaged one does, if that is allowed.",
            remedy: .formatInProcess(self.rawValue))
    }
}
