import ArgumentParser
import BlobStreamsStandard

#if !BLOBSTREAMS_UPLOADS
    import ArgumentParser
    import BlobStreamsStandard

    /// Replaces the command in a build without the headers of libcurl.
    struct UploadCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "upload", abstract: "Sends sources to a web server (left out of this build).")

        @Argument(parsing: .captureForPassthrough)
        var arguments: [String] = []

        func run() throws {
            throw BlobError(
                .unavailable, "This blob was built without the headers of libcurl, and so without uploads.",
                isTransient: false)
        }
    }

    extension Main {
        static func preloadLibraries() -> () -> Void { {} }
    }

    /// Replaces the command in a build without the headers of libcurl.
    struct PutCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "put", abstract: "Stores sources under keys made of their locators (left out of this build).")

        @Argument(parsing: .captureForPassthrough)
        var arguments: [String] = []

        func run() throws { try UploadCommand().run() }
    }

    // These replace the options in a build without the headers of libcurl.

    struct ConnectionOptions: ParsableArguments {}

    struct StoreOptions: ParsableArguments {}

    struct WebOptions: ParsableArguments {
        var forPasswordFile: WebOptions { self }

        func applied(
            to registry: BlobRegistry, _ connection: ConnectionOptions, _ store: StoreOptions
        ) -> BlobRegistry { registry }
    }
#endif

#if !BLOBSTREAMS_ASSET_LIBRARY
    /// Replaces the commands of the asset library in a build without it.
    struct LibraryCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "library", abstract: "Keeps assets in a library (not in this build).", shouldDisplay: false)

        @Argument(parsing: .captureForPassthrough) var rest: [String] = []

        func run() throws {
            throw BlobError(
                .notRegistered,
                "This build is without the module AssetLibrarySource: install what brings sqlite3.h (libsqlite3-dev), "
                    + "run 'swift package purge-cache', and build again.")
        }
    }
#endif
