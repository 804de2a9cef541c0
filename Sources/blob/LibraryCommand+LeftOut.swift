#if Command
import ArgumentParser
import BlobStreamsStandard

#if !Photos
/// Replaces the commands of the asset library in a build without it.
struct LibraryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library", abstract: "Manages a photo library (not in this build).", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough) var rest: [String] = []

    func run() throws {
        throw BlobError(
            .notRegistered,
            "This build does not include the asset library: build the package with the trait Photos.")
    }
}
#endif
#endif
