import BlobCore
import BlobHelper

extension HelperLocation {
    /// The program that reads archives.
    static let archives = HelperLocation("blob-archive-helper", variable: "BLOB_ARCHIVE_HELPER")

    /// The error for a format whose archives are not read without a helper.
    func isMissing(_ path: String?, _ format: ArchiveFormat) -> BlobError {
        let what =
            format.isForeign
            ? "Archives of the format \(format.rawValue)" : "Members of a 7z in rare coders, such as PPMd and BCJ2,"
        return BlobError(
            .unsupported,
            "\(what) are read by a helper process, and \(self.searched(path)). They can be read in this process, "
                + "whatever a damaged one does to it, if that is allowed.")
    }
}
