#if Receiver && Photos
import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

/// Serves a page on which a user chooses assets of a library and uploads them, and prints the URL of the page.
@main
struct PickerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "AssetPicker", abstract: "Lets the user choose assets in a browser, and uploads them.",
        discussion: """
            The page can be reached only from this machine, and only by the printed URL, so keep the URL as secret as \
            a password. If the program is started again with the same state folder, it serves the same URL and \
            continues the uploads.
            """)

    @Argument(help: "An asset library, a folder of photos, or a digiKam or Shotwell database.")
    var library: String

    @Argument(help: "The URL of the server; with tus, its URL for creating uploads.")
    var url: String

    @Argument(help: "The folder for the state of the uploads; it is created if it does not exist.")
    var state: String

    @Option(
        name: .customLong("as"), help: "What the server accepts: tus, raw bodies, or a form with a part named 'file'.")
    var form = UploadForm.tus

    @Option(help: "The maximum number of assets that can be chosen at once, at least 1.")
    var limit = 50

    @Option(help: "The media types to offer, separated by commas; either half may be '*', as in image/*.")
    var types = "*/*"

    @Option(help: "The maximum number of simultaneous uploads, at least 1.")
    var jobs = 3

    @Option(help: "The maximum rate of each upload, in bytes per second (default: no limit).")
    var limitRate: Int64?

    func validate() throws {
        guard self.limit > 0, self.jobs > 0, self.limitRate ?? 1 > 0 else {
            throw ValidationError("--limit, --jobs and --limit-rate must be greater than 0.")
        }
    }

    /// Binds the state folder to the library, because the queue's identifiers would name other assets in another
    /// library.
    private func claim(_ folder: URL) throws {
        let file = folder.appendingPathComponent("library")
        let path = URL(fileURLWithPath: self.library).resolvingSymlinksInPath().path
        guard FileManager.default.fileExists(atPath: file.path) else {
            return try path.write(to: file, atomically: true, encoding: .utf8)
        }
        guard try String(contentsOf: file, encoding: .utf8) == path else {
            throw ValidationError(
                "The folder '\(self.state)' contains the state of another library's uploads: use another folder.")
        }
    }

    func run() async throws {
        do {
            try await self.serve()
        } catch let error as BlobError {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            throw ExitCode(error.code.exitStatus)
        }
    }

    private func serve() async throws {
        // Opened before anything is created on disk, so that a missing library leaves no state folder behind.
        let catalogue = LibraryCatalogue(try AssetLibrary.catalogue(at: URL(fileURLWithPath: self.library)))
        let folder = URL(fileURLWithPath: self.state)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try self.claim(folder)
        let uploads = try PickerUploads(
            of: catalogue, to: self.url, as: self.form, keepingStateIn: folder, atOnce: self.jobs,
            rateLimit: self.limitRate)
        let assets = PickerAssets(catalogue, types: self.types)
        let server = PickerServer(keepingStateIn: folder, PickerRoutes(assets, uploads, limit: self.limit))
        _ = try server.listen()
        FileHandle.standardOutput.write(Data("\(server.session.url)\n".utf8))
        await uploads.run()
    }
}

extension UploadForm: ExpressibleByArgument {}
#else
import BlobCommandLine

/// The program in a build without the required traits.
@main enum Main {
    static func main() { endWithoutTrait("traits Receiver and Photos", "AssetPicker") }
}
#endif
