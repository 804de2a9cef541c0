import BlobCore
import BlobPlatform
import CArchiveHelper

/// The location of the program that reads archives for this process.
enum HelperLocation {
    static let program = "blob-archive-helper"
    static let variable = "BLOB_ARCHIVE_HELPER"

    /// The path of the program beside the running executable, if it is there; looked up once.
    private static let beside: String? = {
        guard let executable = blob_executable_path() else { return nil }
        let folder = String(cString: executable).split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return (folder + [Self.program[...]]).joined(separator: "/")
    }()

    /// Returns the path of the helper; nil when there is none.
    ///
    /// - Parameter path: The path that was set; nil to look for one.
    static func find(_ path: String? = nil) -> String? {
        if let path = path ?? self.value(of: self.variable) { return self.isExecutable(path) ? path : nil }
        let folders = (self.value(of: "PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        return ([self.beside].compactMap { $0 } + folders.map { "\($0)/\(self.program)" })
            .first { self.isExecutable($0) }
    }

    /// The error for a format whose archives are not read without a helper.
    static func isMissing(_ path: String?, _ format: ArchiveFormat) -> BlobError {
        let place =
            (path ?? self.value(of: self.variable)).map { "at \($0) there is none" }
            ?? "there is no program \(self.program) beside this one or in a folder of PATH"
        let what =
            format.isForeign
            ? "Archives of the format \(format.rawValue)" : "Members of a 7z in rare coders, such as PPMd and BCJ2,"
        return BlobError(
            .unsupported,
            "\(what) are read by a helper process, and \(place). To read them in this "
                + "process, whatever a damaged one does to it, use --allow-format \(format.rawValue), or "
                + "ArchiveIsolation.inProcess.")
    }

    private static func value(of variable: String) -> String? { getenv(variable).map { String(cString: $0) } }

    private static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 && !self.isFolder(path) }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
