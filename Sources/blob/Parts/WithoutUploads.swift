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
