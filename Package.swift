// swift-tools-version: 6.2

import PackageDescription

/// The path of libFuzzer without its `main`, for builds by `make fuzz`; nil in any other build.
let fuzzer = Context.environment["BLOBSTREAMS_FUZZER"]

let settings: [SwiftSetting] =
    [
        // The features of the next language mode that affect the visibility of declarations.
        .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    // Warnings are errors in continuous integration only, so that they do not stop other builds.
    + (Context.environment["BLOBSTREAMS_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)])
    // The counters that libFuzzer observes.
    + (fuzzer == nil ? [] : [.unsafeFlags(["-Xfrontend", "-sanitize=fuzzer"])])

// MARK: - Dependencies, each of which a trait turns on

let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Command"]))

let assetLibrary: Target.Dependency = .target(name: "AssetLibrarySource", condition: .when(traits: ["Photos"]))

let asyncHTTPClient: Target.Dependency = .product(
    name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["AsyncHTTPClient"]))

func crypto(_ name: String = "Crypto") -> Target.Dependency {
    .product(name: name, package: "swift-crypto", condition: .when(traits: ["Crypto"]))
}

func grdb(_ name: String = "GRDB") -> Target.Dependency {
    .product(name: name, package: "GRDB.swift", condition: .when(traits: ["Photos"]))
}

func nio(_ name: String) -> Target.Dependency {
    .product(name: name, package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient", "Receiver"]))
}

func observability(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Observability"]))
}

// MARK: - Kinds of targets

/// A module, in `Sources` unless a path is given.
func module(_ name: String, path: String? = nil, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

/// Calls to a C library that is loaded at first use, or a few lines of our own C.
func cLibrary(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/CLibraries/\(name)")
}

/// A plugin: one module and one product.
func plugin(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(
        name: name, dependencies: ["BlobCore", "BlobPlatform"] + dependencies, path: "Plugins/\(name)",
        swiftSettings: settings)
}

/// A program, in `Sources` unless a path is given.
func program(
    _ name: String, path: String? = nil, exclude: [String] = [], resources: [Resource] = [],
    _ dependencies: Target.Dependency...
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: path, exclude: exclude, resources: resources,
        swiftSettings: settings)
}

/// A program that demonstrates one use, and is run by a test.
func example(_ name: String, in folder: String? = nil, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(
        name: name, dependencies: ["BlobStreamsStandard", "ExampleProgram"] + dependencies,
        path: "Examples/\(folder ?? name)", swiftSettings: settings)
}

/// A Swift block of the README, run by a test.
func readMe(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(
        name: "ReadMe\(name)", dependencies: ["BlobStreamsStandard"] + dependencies, path: "Tests/ReadMe/\(name)",
        swiftSettings: settings)
}

func tests(_ name: String, exclude: [String] = [], _ dependencies: Target.Dependency...) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

/// The program that `make fuzz` runs.
let fuzzing: [Target] =
    fuzzer.map { fuzzer in
        [
            .systemLibrary(name: "CFuzzer", path: "Tests/Fuzzing/CFuzzer"),
            .executableTarget(
                name: "fuzz", dependencies: ["CFuzzer", "FuzzChecks"], path: "Tests/Fuzzing/fuzz",
                swiftSettings: settings,
                linkerSettings: [.unsafeFlags([fuzzer]), .linkedLibrary("stdc++"), .linkedLibrary("m")]),
        ]
    } ?? []

// MARK: - The package

let package = Package(
    name: "BlobStreams",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        "ArchiveSource", "AssetLibrarySource", "BlobCore", "BlobObservability", "BlobReceiving", "BlobStreams",
        "BlobStreamsNIO",
        "BlobStreamsStandard",
        "BlobStreamsTesting", "BlobTransfer", "BlobURLSession", "CryptoDigest", "FileSource", "GzipSource",
        "HTTPSource", "MultipartFormData", "MultipartURLRequest", "S3Source", "ZipArchive",
    ].map { .library(name: $0, targets: [$0]) }
        + ["blob", "blob-receive", "blob-serve", "blob-archive-helper", "blob-media-helper"].map {
            .executable(name: $0, targets: [$0])
        },
    traits: [
        .trait(name: "Crypto", description: "Digests, encrypted 7z archives, and S3: swift-crypto."),
        .trait(name: "Photos", description: "The library of assets: GRDB.", enabledTraits: ["Crypto"]),
        .trait(name: "Command", description: "The command blob: ArgumentParser.", enabledTraits: ["Crypto"]),
        .trait(
            name: "Receiver", description: "The programs blob-receive and blob-serve, and their server: SwiftNIO.",
            enabledTraits: ["Command"]),
        .trait(
            name: "Observability",
            description: "BlobObservability: swift-log, swift-metrics and swift-distributed-tracing."),
        .trait(name: "AsyncHTTPClient", description: "BlobStreamsNIO: uploads by async-http-client."),
        .default(enabledTraits: ["Command", "Photos", "Receiver"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
    ],
    targets: [
        // The core, and the modules built on it.
        cLibrary("CPlatform"),
        module("BlobPlatform", path: "Sources/CLibraries/BlobPlatform", "CPlatform"),
        module("BlobCore", "BlobPlatform", "CPlatform"),
        module("BlobStreams", "BlobCore"),
        module(
            "BlobStreamsStandard", "BlobStreams", "FileSource", "GzipSource", "ArchiveSource", "CryptoDigest",
            "HTTPSource", "S3Source", assetLibrary),
        module("BlobStreamsTesting", "BlobCore", "BlobPlatform"),
        // Separate from all others: on Linux it links FoundationNetworking, which `blob` must not.
        module("BlobURLSession", "BlobStreams"),
        // Bodies of async-http-client, and the server of any service; empty without both traits.
        module(
            "BlobStreamsNIO", "BlobCore", "BlobPlatform", "BlobReceiving", asyncHTTPClient, nio("NIOCore"),
            nio("NIOHTTP1"), nio("NIOPosix")),

        // Empty without its trait.
        module(
            "BlobObservability", "BlobCore", "BlobPlatform", observability("CoreMetrics", "swift-metrics"),
            observability("Logging", "swift-log"), observability("Tracing", "swift-distributed-tracing")),

        // C libraries. Only zlib is linked, and needs its header.
        .systemLibrary(name: "CZlib", path: "Sources/CLibraries/CZlib", providers: [.apt(["zlib1g-dev"])]),
        cLibrary("CChecksums"), cLibrary("CLoading"),
        cLibrary("CArchive", "CLoading"), cLibrary("CBzip2", "CLoading"), cLibrary("CCurl", "CLoading"),
        cLibrary("CGexiv2", "CLoading"), cLibrary("CIsal", "CLoading"), cLibrary("CLzma", "CLoading"),
        cLibrary("CTurboJPEG", "CLoading"), cLibrary("CVips", "CLoading"), cLibrary("CZstd", "CLoading"),

        // Shared by plugins.
        module("BlobDeflate", "BlobCore", "BlobPlatform", "CChecksums", "CIsal", "CZlib"),
        module("BlobIndex", "BlobCore", "BlobDeflate", "BlobPlatform"),
        module(
            "BlobBlocks", "BlobCore", "BlobDeflate", "BlobIndex", "BlobPlatform", "CBzip2", "CLzma", "CZstd"),
        module("BlobTransfer", "BlobCore", "BlobDeflate", "BlobPlatform", "CCurl", "CryptoDigest"),
        // Shared by the programs that decode for others and the modules that start them.
        cLibrary("CHelper"),
        module("HelperExchange", path: "Sources/Helpers/HelperExchange", "CArchive", "CHelper"),
        module(
            "BlobHelper", path: "Sources/Helpers/BlobHelper", "BlobCore", "BlobPlatform", "CHelper", "HelperExchange"),
        // Writes members to a folder, and nothing outside it.
        module("BlobExtraction", "BlobCore", "BlobPlatform", "CPlatform"),
        // Shared by the commands.
        module("BlobCommandLine", "BlobCore", "BlobPlatform", argumentParser),
        module("BlobReceiving", "BlobCore", "BlobPlatform", "BlobTransfer", "CryptoDigest", "ZipArchive"),

        plugin("FileSource", "CPlatform"),
        plugin("GzipSource", "BlobIndex", "BlobDeflate"),
        plugin(
            "ArchiveSource", "GzipSource", "BlobBlocks", "BlobIndex", "BlobDeflate", "BlobHelper", "CArchive",
            "HelperExchange", crypto(), crypto("CryptoExtras")),
        plugin("CryptoDigest", crypto()),
        plugin("HTTPSource", "BlobTransfer"),
        plugin("S3Source", "BlobDeflate", "BlobTransfer", "CryptoDigest"),
        plugin(
            "AssetLibrarySource", "BlobHelper", "BlobIndex", "BlobStreams", "CPlatform", "CryptoDigest",
            "HelperExchange", grdb(), grdb("GRDBSQLite")),

        program(
            "blob", exclude: ["Shell"], "BlobCommandLine", "BlobExtraction", "BlobIndex", "BlobPlatform",
            "BlobStreamsStandard", "BlobTransfer", "CHelper", "MultipartFormData", "ZipArchive", argumentParser,
            assetLibrary),
        // Without Foundation, so that these two start in a millisecond.
        program(
            "blob-archive-helper", path: "Sources/Helpers/blob-archive-helper", "CArchive", "CHelper", "HelperExchange"),
        program(
            "blob-media-helper", path: "Sources/Helpers/blob-media-helper", "CGexiv2", "CHelper", "CTurboJPEG", "CVips",
            "HelperExchange"),
        // The programs with a server.
        module(
            "ServerProgram", path: "Sources/Servers/ServerProgram", "BlobCommandLine", "BlobCore", "BlobPlatform",
            "BlobStreamsNIO", argumentParser),
        program(
            "blob-receive", path: "Sources/Servers/blob-receive", "BlobReceiving", "ServerProgram"),
        program(
            "blob-serve", path: "Sources/Servers/blob-serve", "BlobReceiving", "BlobStreamsStandard", "ServerProgram",
            assetLibrary),

        // Examples, three of which are products.
        module(
            "MultipartFormData", path: "Examples/MultipartFormData", "BlobCore", "BlobPlatform", "CryptoDigest",
            "FileSource"),
        // Separate from the form: on Linux it links FoundationNetworking, which `blob` must not.
        module(
            "MultipartURLRequest", path: "Examples/MultipartURLRequest", "BlobStreams", "MultipartFormData"),
        module(
            "ZipArchive", path: "Examples/ZipArchive", "BlobCore", "BlobDeflate", "BlobIndex", "BlobPlatform",
            "CryptoDigest", "FileSource"),
        module("ExampleProgram", path: "Examples/ExampleProgram", "BlobStreamsStandard", assetLibrary),
        // Depends on the core only: its size and libraries are measured when it is linked statically.
        program(
            "SmallChecksum", path: "Examples/Checksum/Small", "ArchiveSource", "BlobCore", "CryptoDigest", "FileSource",
            "GzipSource"),
        example(
            "AlbumZip", "BlobCommandLine", "BlobReceiving", "BlobStreamsNIO", "ZipArchive", assetLibrary),
        example("BoundPairPump"),
        example("ChangedAsset"),
        example("Checksum", in: "Checksum/Chunks"),
        example("ComposeForm", "MultipartFormData", "MultipartURLRequest"),
        example("CustomSource", "BlobStreamsTesting", "BlobURLSession"),
        example("FormRequest", "MultipartFormData", "MultipartURLRequest"),
        example("JoinedStreams"),
        example("ObservedSource"),
        example("RunLoopChecksum", in: "Checksum/RunLoop"),
        example("StreamedRequest"),
        example("SynchronousChecksum", in: "Checksum/Synchronous"),
        example("Upload", "BlobTransfer", "MultipartFormData", "S3Source", assetLibrary),
        program(
            "AssetPicker", path: "Examples/AssetPicker", resources: [.embedInCode("Page")], "BlobCommandLine",
            "BlobReceiving", "BlobStreamsNIO", "BlobStreamsStandard", "BlobTransfer", "MultipartFormData",
            argumentParser, assetLibrary),
        // The programs of the README, verbatim.
        readMe("Form", "BlobURLSession", "MultipartFormData", "MultipartURLRequest"),
        readMe("Observed"),
        readMe("Plugin"),

        // Code that the tests of several modules share.
        .target(name: "CThreadLimit", path: "Tests/CThreadLimit"),
        .target(name: "CSystemCallLog", path: "Tests/CSystemCallLog"),
        module("BlobTestSupport", path: "Tests/BlobTestSupport", "BlobCore", "CThreadLimit"),
        // A server for the tests of sources that read through HTTP.
        .target(
            name: "HTTPTestSupport", dependencies: ["BlobCore", "BlobTestSupport"], path: "Tests/HTTPTestSupport",
            exclude: ["Certificates"], swiftSettings: settings),
        // Kills itself during an import, or has its system calls logged.
        program("KilledImport", path: "Tests/KilledImport", "CSystemCallLog", "FileSource", assetLibrary),
        // The checks of the fuzzers; the tests apply them to the stored inputs.
        module(
            "FuzzChecks", path: "Tests/Fuzzing/Checks", "ArchiveSource", "BlobCore", "BlobDeflate", "BlobHelper",
            "BlobIndex", "BlobReceiving", "BlobTestSupport", "BlobTransfer", "CZlib", "GzipSource"),
        program(
            "soak", path: "Tests/Soak", "BlobStreamsStandard", "BlobStreamsTesting", "BlobTestSupport",
            "CryptoDigest", "HTTPTestSupport"),
        // The declarations of libraries that are loaded late, in our headers and in the original ones.
        .target(
            name: "CHeaders", dependencies: ["CArchive", "CBzip2", "CCurl", "CIsal", "CLzma", "CZstd"],
            path: "Tests/CHeaders"),

        tests(
            "ArchiveSourceTests", exclude: ["Fixtures"], "BlobTestSupport", "BlobBlocks", "BlobIndex", "BlobStreams",
            "BlobStreamsTesting", "FileSource", "GzipSource", "ArchiveSource", "blob-archive-helper"),
        tests(
            "AssetLibrarySourceTests", exclude: ["Fixtures"], "BlobStreamsTesting", "BlobTestSupport", "CSystemCallLog",
            "FileSource", "BlobHelper", "HelperExchange", "KilledImport", "blob-media-helper", assetLibrary, grdb()),
        tests(
            "AssetPickerTests", "AssetPicker", "BlobReceiving", "BlobStreams", "BlobTestSupport", "FileSource",
            "blob-receive"),
        // The tests run the command as a process; the dependency ensures that it is built.
        tests(
            "BlobCommandTests", "blob", "blob-archive-helper", "blob-media-helper", "blob-receive", "blob-serve",
            "ArchiveSource",
            "BlobCommandLine", "BlobExtraction", "BlobIndex", "BlobStreams", "BlobTestSupport", "CryptoDigest",
            "FileSource", "HTTPTestSupport"),
        tests("BlobDeflateTests", "BlobTestSupport", "BlobStreams", "BlobDeflate", "CHeaders", "CZlib"),
        tests("BlobIndexTests", "BlobTestSupport", "BlobIndex", "BlobDeflate", "BlobStreams"),
        tests(
            "BlobReceivingTests", "BlobStreamsStandard", "BlobTestSupport", "BlobReceiving", "BlobTransfer"),
        tests("BlobStreamsTestingTests", "BlobStreams", "BlobStreamsTesting", "BlobTestSupport"),
        tests("BlobStreamsTests", "BlobTestSupport", "BlobStreams"),
        tests("BlobTestSupportTests", "BlobPlatform", "BlobTestSupport", "CThreadLimit"),
        tests(
            "BlobTransferTests", "BlobStreams", "BlobStreamsTesting", "BlobTestSupport", "BlobTransfer", "CryptoDigest",
            "FileSource", "Upload"),
        tests("BlobURLSessionTests", "BlobTestSupport", "BlobStreams", "BlobStreamsTesting", "BlobURLSession"),
        tests("ConformanceTests", "BlobStreamsStandard", "BlobStreamsTesting", "BlobTestSupport"),
        tests("CryptoDigestTests", "BlobStreams", "CryptoDigest"),
        tests(
            "ExamplesTests", "BlobTestSupport", "blob", "blob-media-helper", "blob-receive", "AlbumZip", "AssetPicker",
            "BoundPairPump", "ChangedAsset", "Checksum", "ComposeForm", "CustomSource", "FormRequest", "JoinedStreams",
            "ObservedSource", "ReadMeForm", "ReadMeObserved", "ReadMePlugin", "RunLoopChecksum", "SmallChecksum",
            "StreamedRequest", "SynchronousChecksum", "Upload"),
        tests("FileSourceTests", "BlobTestSupport", "BlobStreams", "FileSource"),
        tests("FuzzChecksTests", "BlobTestSupport", "FuzzChecks"),
        tests(
            "GzipSourceTests", exclude: ["Fixtures"], "BlobTestSupport", "BlobIndex", "BlobDeflate", "BlobStreams",
            "BlobStreamsTesting", "CZlib", "FileSource", "GzipSource"),
        tests(
            "HTTPSourceTests", "ArchiveSource", "BlobTestSupport", "BlobTransfer", "BlobStreamsStandard",
            "BlobStreamsTesting", "HTTPSource", "HTTPTestSupport"),
        tests(
            "MultipartFormDataTests", "BlobTestSupport", "BlobStreamsStandard", "BlobStreamsTesting",
            "MultipartFormData", "MultipartURLRequest"),
        tests("MultipartURLRequestTests", "BlobStreams", "MultipartURLRequest"),
        tests(
            "S3SourceTests", exclude: ["Fixtures"], "BlobDeflate", "BlobTestSupport", "BlobTransfer",
            "BlobStreamsStandard",
            "BlobStreamsTesting", "HTTPTestSupport", "S3Source", "Upload", "blob"),
        tests(
            "ZipArchiveTests", "BlobDeflate", "BlobStreamsStandard", "BlobStreamsTesting", "BlobTestSupport",
            "ZipArchive"),
    ] + fuzzing,
    swiftLanguageModes: [.v6]
)
