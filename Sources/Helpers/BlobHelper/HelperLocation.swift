import BlobCore
import BlobPlatform
import CHelper

/// The location of a program that decodes for this process.
package struct HelperLocation: Sendable {
    /// The name of the program.
    package let program: String
    /// The environment variable with the path of the program.
    package let variable: String

    package init(_ program: String, variable: String) { (self.program, self.variable) = (program, variable) }

    /// The folder of the running executable, with a trailing slash; nil if unknown.
    private static let folder: String? = {
        guard let executable = blob_executable_path() else { return nil }
        let path = String(cString: executable).split(separator: "/", omittingEmptySubsequences: false)
        return path.dropLast().map { "\($0)/" }.joined()
    }()

    /// Returns the path of the helper: the value of ``variable``, or the program beside the running executable, or the
    /// program in a folder of `PATH`; nil if not found.
    ///
    /// - Parameter path: The path that was set; nil to search for the helper.
    package func find(_ path: String? = nil) -> String? {
        if let path = path ?? Self.value(of: self.variable) { return Self.isExecutable(path) ? path : nil }
        let folders = (Self.value(of: "PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        return ([Self.folder].compactMap { $0 } + folders.map { "\($0)/" }).map { $0 + self.program }
            .first { Self.isExecutable($0) }
    }

    /// Returns the places that were searched for a missing helper, as the end of a sentence.
    ///
    /// - Parameter path: The path that was set; nil if the helper was searched for.
    package func searchDescription(_ path: String? = nil) -> String {
        (path ?? Self.value(of: self.variable)).map { "there is no program at \($0)" }
            ?? "\(self.program) was found neither next to this program nor in the folders of PATH"
    }

    private static func value(of variable: String) -> String? { getenv(variable).map { String(cString: $0) } }

    private static func isExecutable(_ path: String) -> Bool {
        access(path, X_OK) == 0 && FileStatus(at: path)?.isFolder != true
    }
}
