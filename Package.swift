// swift-tools-version: 6.2

import Foundation
import PackageDescription

/// The build of the continuous integration has no warnings; everybody else's is not stopped by one.
let settings: [SwiftSetting] =
    Context.environment["BLOBSTREAMS_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// Parts that need a library of the system are on where its header is found. The variable turns them off: their names,
/// separated by commas. SwiftPM remembers what a manifest said: a library that was installed since is seen after
/// `swift package purge-cache`.
let partsTurnedOff = Set((Context.environment["BLOBSTREAMS_WITHOUT"] ?? "").split(separator: ",").map(String.init))

/// Apple's SDKs have the headers of their systems; elsewhere they lie where compilers look.
func isOn(_ part: String, header: String) -> Bool {
    #if canImport(Darwin)
        return !partsTurnedOff.contains(part)
    #else
        let paths = (Context.environment["CPATH"] ?? "").split(separator: ":").map(String.init)
        // Debian keeps headers that depend on the processor in a folder of its own.
        let perProcessor = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/include")) ?? []
        let folders =
            paths + ["/usr/include", "/usr/local/include"]
            + perProcessor.filter { $0.contains("-linux-gnu") }.map { "/usr/include/\($0)" }
        let isFound = folders.contains { FileManager.default.fileExists(atPath: "\($0)/\(header)") }
        return isFound && !partsTurnedOff.contains(part)
    #endif
}

let hasAssetLibrary = isOn("AssetLibrarySource", header: "sqlite3.h")
let hasUploads = isOn("BlobTransfer", header: "curl/curl.h")

/// The features of the next language mode that concern what a module shows and sees.
let strictness: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// What the umbrella, the command and their tests are told, and which of their files are left out.
let partSettings: [SwiftSetting] =
    settings + (hasAssetLibrary ? [.define("BLOBSTREAMS_ASSET_LIBRARY")] : [])
    + (hasUploads ? [.define("BLOBSTREAMS_UPLOADS")] : [])
let filesLeftOut = (hasAssetLibrary ? [] : ["AssetLibrary"]) + (hasUploads ? [] : ["Uploads"])

/// The path of libFuzzer without its `main`, with which `make fuzz` builds; nil in any other build.
let fuzzer = Context.environment["BLOBSTREAMS_FUZZER"]

/// Headers and calls of a library in C, which is loaded when it is first needed, or a few lines of C of our own.
func cLibrary(_ name: String) -> Target { .target(name: name, path: "Sources/CLibraries/\(name)") }

/// A plugin: one module and one product.
func plugin(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(
        name: name, dependencies: ["BlobCore", "BlobPlatform"] + dependencies, path: "Plugins/\(name)",
        swiftSettings: settings)
}

/// A program that shows one use, run by a test.
func example(_ name: String, in folder: String? = nil, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(
        name: name, dependencies: ["BlobStreamsStandard", "ExampleProgram"] + dependencies,
        path: "Examples/\(folder ?? name)", swiftSettings: partSettings)
}

/// A block of Swift of the README, run by a test.
func readMe(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(
        name: "ReadMe\(name)", dependencies: ["BlobStreamsStandard"] + dependencies, path: "Tests/ReadMe/\(name)",
        swiftSettings: settings)
}

func tests(_ name: String, exclude: [String] = [], _ dependencies: Target.Dependency...) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

/// What the trait turns on.
let asyncHTTPClient: [Target.Dependency] = [
    .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["AsyncHTTPClient"])),
    .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
    .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
    .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
]

let package = Package(
    name: "BlobStreams",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "BlobCore", targets: ["BlobCore"]),
        .library(name: "BlobStreams", targets: ["BlobStreams"]),
        .library(name: "BlobStreamsNIO", targets: ["BlobStreamsNIO"]),
        .library(name: "BlobStreamsStandard", targets: ["BlobStreamsStandard"]),
        .library(name: "BlobStreamsTesting", targets: ["BlobStreamsTesting"]),
        .library(name: "BlobURLSession", targets: ["BlobURLSession"]),
        .library(name: "FileSource", targets: ["FileSource"]),
        .library(name: "GzipSource", targets: ["GzipSource"]),
        .library(name: "ArchiveSource", targets: ["ArchiveSource"]),
        .library(name: "CryptoDigest", targets: ["CryptoDigest"]),
        .library(name: "MultipartFormData", targets: ["MultipartFormData"]),
        .library(name: "MultipartURLRequest", targets: ["MultipartURLRequest"]),
        .executable(name: "blob", targets: ["blob"]),
        .executable(name: "blob-receive", targets: ["blob-receive"]),
        .executable(name: "blob-archive-helper", targets: ["blob-archive-helper"]),
        .executable(name: "blob-media-helper", targets: ["blob-media-helper"]),
    ],
    traits: [.trait(name: "AsyncHTTPClient", description: "BlobStreamsNIO: uploads by async-http-client.")],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
    ],
    targets: [
        cLibrary("CPlatform"),
        .target(
            name: "BlobPlatform", dependencies: ["CPlatform"], path: "Sources/CLibraries/BlobPlatform",
            swiftSettings: settings),
        .target(name: "BlobCore", dependencies: ["BlobPlatform", "CPlatform"], swiftSettings: settings),
        .target(name: "BlobStreams", dependencies: ["BlobCore"], swiftSettings: settings),
        .target(
            name: "BlobStreamsStandard",
            dependencies: ["BlobStreams", "FileSource", "GzipSource", "ArchiveSource", "CryptoDigest"],
            swiftSettings: partSettings),
        .target(name: "BlobStreamsTesting", dependencies: ["BlobCore", "BlobPlatform"], swiftSettings: settings),
        // Apart from all others: on Linux it links FoundationNetworking, which `blob` must not.
        .target(name: "BlobURLSession", dependencies: ["BlobStreams"], swiftSettings: settings),
        // Empty without the trait, and then nothing of its dependencies is fetched.
        .target(
            name: "BlobStreamsNIO",
            dependencies: ["BlobCore", "BlobPlatform"] + asyncHTTPClient, swiftSettings: settings),

        .systemLibrary(name: "CZlib", path: "Sources/CLibraries/CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "BlobDeflate", dependencies: ["BlobCore", "BlobPlatform", "CIsal", "CZlib"], swiftSettings: settings),
        // Their libraries are loaded when they are first needed; what a package manager knows of them would link them.
        cLibrary("CArchive"), cLibrary("CBzip2"), cLibrary("CIsal"), cLibrary("CLzma"), cLibrary("CZstd"),
        // Shared by programs that decode for others, and those that start them.
        cLibrary("CHelper"),
        .target(name: "HelperExchange", dependencies: ["CArchive", "CHelper"], swiftSettings: settings),
        .target(
            name: "BlobHelper", dependencies: ["BlobCore", "BlobPlatform", "CHelper", "HelperExchange"],
            swiftSettings: settings),
        .target(name: "BlobIndex", dependencies: ["BlobCore", "BlobDeflate", "BlobPlatform"], swiftSettings: settings),
        .target(
            name: "BlobBlocks",
            dependencies: ["BlobCore", "BlobDeflate", "BlobIndex", "BlobPlatform", "CBzip2", "CLzma", "CZstd"],
            swiftSettings: settings),
        // Members to a folder, and nothing beyond it.
        .target(
            name: "BlobExtraction", dependencies: ["BlobCore", "BlobPlatform", "CPlatform"], swiftSettings: settings),
        // Shared by the commands.
        .target(name: "BlobCommandLine", dependencies: ["BlobCore", "BlobPlatform"], swiftSettings: settings),
        .target(
            name: "BlobReceiving", dependencies: ["BlobCore", "BlobPlatform", "CryptoDigest"],
            swiftSettings: settings),

        plugin("FileSource", "CPlatform"),
        plugin("GzipSource", "BlobIndex", "BlobDeflate"),
        plugin(
            "ArchiveSource", "GzipSource", "BlobBlocks", "BlobIndex", "BlobDeflate",
            "BlobHelper", "CArchive", "HelperExchange", .product(name: "Crypto", package: "swift-crypto"),
            .product(name: "CryptoExtras", package: "swift-crypto")),
        plugin("CryptoDigest", .product(name: "Crypto", package: "swift-crypto")),

        .executableTarget(
            name: "blob",
            dependencies: [
                "BlobCommandLine", "BlobExtraction", "BlobIndex", "BlobPlatform", "BlobStreamsStandard", "CHelper",
                "MultipartFormData",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], exclude: filesLeftOut + ["functions.order", "Shell"], swiftSettings: partSettings),
        // Without Foundation: it starts in a millisecond.
        .executableTarget(
            name: "blob-archive-helper", dependencies: ["CArchive", "CHelper", "HelperExchange"],
            swiftSettings: settings),
        // Without Foundation, as the one for archives.
        cLibrary("CVips"),
        cLibrary("CGexiv2"),
        cLibrary("CTurboJPEG"),
        .executableTarget(
            name: "blob-media-helper",
            dependencies: ["CGexiv2", "CHelper", "CTurboJPEG", "CVips", "HelperExchange"],
            swiftSettings: settings),
        .executableTarget(
            name: "blob-receive",
            dependencies: [
                "BlobCommandLine", "BlobCore", "BlobPlatform", "BlobReceiving",
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: settings),

        .target(
            name: "MultipartFormData", dependencies: ["BlobCore", "BlobPlatform", "CryptoDigest", "FileSource"],
            path: "Examples/MultipartFormData", swiftSettings: settings),
        // Apart from the form: on Linux it links FoundationNetworking, which `blob` must not.
        .target(
            name: "MultipartURLRequest", dependencies: ["BlobStreams", "MultipartFormData"],
            path: "Examples/MultipartURLRequest", swiftSettings: settings),
        // Stands on the core alone: what it links, when linked statically, is measured.
        .executableTarget(
            name: "SmallChecksum",
            dependencies: ["ArchiveSource", "BlobCore", "CryptoDigest", "FileSource", "GzipSource"],
            path: "Examples/Checksum/Small", swiftSettings: settings),
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
        .target(
            name: "ExampleProgram", dependencies: ["BlobStreamsStandard"], path: "Examples/ExampleProgram",
            swiftSettings: partSettings),

        // The programs of the README, word for word.
        readMe("Form", "BlobURLSession", "MultipartFormData", "MultipartURLRequest"), readMe("Observed"),
        readMe("Plugin"),
        // What the tests of several modules share.
        .target(
            name: "BlobTestSupport", dependencies: ["BlobCore", "CThreadLimit"], path: "Tests/BlobTestSupport",
            swiftSettings: settings),
        .target(name: "CThreadLimit", path: "Tests/CThreadLimit"),
        tests(
            "ArchiveSourceTests", exclude: ["Fixtures"], "BlobTestSupport", "BlobBlocks", "BlobIndex", "BlobStreams",
            "BlobStreamsTesting", "FileSource", "GzipSource", "ArchiveSource", "blob-archive-helper"),
        // Its tests run the command as a process; the dependency has it built.
        .testTarget(
            name: "BlobCommandTests",
            dependencies: [
                "blob", "blob-archive-helper", "blob-media-helper", "blob-receive", "ArchiveSource", "BlobCommandLine",
                "BlobExtraction", "BlobIndex", "BlobStreams", "BlobTestSupport", "CryptoDigest",
                "FileSource",
            ],
            exclude: filesLeftOut,
            swiftSettings: partSettings),
        tests("BlobIndexTests", "BlobTestSupport", "BlobIndex", "BlobDeflate", "BlobStreams"),
        tests("BlobDeflateTests", "BlobTestSupport", "BlobStreams", "BlobDeflate", "CZlib"),
        tests(
            "BlobReceivingTests", "BlobStreams", "BlobTestSupport", "BlobReceiving", "CryptoDigest"),
        tests("BlobStreamsTestingTests", "BlobStreams", "BlobStreamsTesting", "BlobTestSupport"),
        tests("BlobStreamsTests", "BlobTestSupport", "BlobStreams"),
        tests("BlobTestSupportTests", "BlobPlatform", "BlobTestSupport", "CThreadLimit"),
        tests(
            "BlobURLSessionTests", "BlobTestSupport", "BlobStreams", "BlobStreamsTesting", "BlobURLSession"),
        .testTarget(
            name: "ConformanceTests", dependencies: ["BlobStreamsStandard", "BlobStreamsTesting", "BlobTestSupport"],
            swiftSettings: partSettings),
        tests("CryptoDigestTests", "BlobStreams", "CryptoDigest"),
        tests(
            "ExamplesTests", "BlobTestSupport", "blob", "blob-receive", "BoundPairPump", "ChangedAsset",
            "Checksum", "ComposeForm", "CustomSource", "FormRequest", "JoinedStreams", "ObservedSource", "ReadMeForm",
            "ReadMeObserved", "ReadMePlugin", "RunLoopChecksum", "SmallChecksum", "StreamedRequest",
            "SynchronousChecksum"),
        tests("FileSourceTests", "BlobTestSupport", "BlobStreams", "FileSource"),
        // What fuzzers check; the tests check the stored inputs in the same way.
        .target(
            name: "FuzzChecks",
            dependencies: [
                "ArchiveSource", "BlobCore", "BlobDeflate", "BlobIndex", "BlobTestSupport", "CZlib",
                "GzipSource",
            ], path: "Tests/Fuzzing/Checks", swiftSettings: settings),
        tests("FuzzChecksTests", "BlobTestSupport", "FuzzChecks"),
        tests(
            "GzipSourceTests", exclude: ["Fixtures"], "BlobTestSupport", "BlobIndex", "BlobDeflate", "BlobStreams",
            "BlobStreamsTesting", "CZlib", "FileSource", "GzipSource"),
        tests(
            "MultipartFormDataTests", "BlobTestSupport", "BlobStreamsStandard", "BlobStreamsTesting",
            "MultipartFormData", "MultipartURLRequest"),
        tests("MultipartURLRequestTests", "BlobStreams", "MultipartURLRequest"),
        .executableTarget(
            name: "soak", dependencies: ["BlobStreamsStandard", "BlobStreamsTesting", "BlobTestSupport"],
            path: "Tests/Soak", exclude: hasUploads ? [] : ["Web"], swiftSettings: partSettings),
    ],
    swiftLanguageModes: [.v6]
)

if hasAssetLibrary {
    package.products.append(.library(name: "AssetLibrarySource", targets: ["AssetLibrarySource"]))
    package.dependencies.append(.package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"))
    package.targets += [
        .target(
            name: "AssetLibrarySource",
            dependencies: [
                "BlobHelper", "BlobIndex", "BlobPlatform", "BlobStreams", "CPlatform", "CryptoDigest", "HelperExchange",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            path: "Plugins/AssetLibrarySource", swiftSettings: settings),
        // Kills itself in the middle of an import, or has its system calls logged.
        .executableTarget(
            name: "KilledImport", dependencies: ["AssetLibrarySource", "CSystemCallLog", "FileSource"],
            path: "Tests/KilledImport", swiftSettings: settings),
        .target(name: "CSystemCallLog", path: "Tests/CSystemCallLog"),
        .testTarget(
            name: "AssetLibrarySourceTests",
            dependencies: [
                "AssetLibrarySource", "BlobStreamsTesting", "BlobTestSupport", "CSystemCallLog", "FileSource",
                "BlobHelper", "HelperExchange", "KilledImport", "blob-media-helper",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], exclude: ["Fixtures"], swiftSettings: settings),
    ]
    for name in ["BlobStreamsStandard", "blob"] {
        package.targets.first { $0.name == name }?.dependencies.append("AssetLibrarySource")
    }
}

if hasUploads {
    package.targets += [
        cLibrary("CCurl"),
        .target(name: "BlobTransfer", dependencies: ["BlobCore", "BlobPlatform", "CCurl"], swiftSettings: settings),
        example("Upload", "BlobTransfer", "MultipartFormData", "S3Source"),
        plugin("HTTPSource", "BlobTransfer"),
        plugin("S3Source", "BlobTransfer", .product(name: "Crypto", package: "swift-crypto")),
        tests(
            "BlobTransferTests", "BlobStreams", "BlobStreamsTesting", "BlobTestSupport", "BlobTransfer", "CryptoDigest",
            "FileSource", "Upload"),
        tests(
            "HTTPSourceTests", "ArchiveSource", "BlobTestSupport", "BlobTransfer", "BlobStreamsStandard",
            "BlobStreamsTesting", "HTTPSource", "HTTPTestSupport"),
        tests(
            "S3SourceTests", exclude: ["Fixtures"], "BlobTestSupport", "BlobTransfer", "BlobStreamsStandard",
            "BlobStreamsTesting", "HTTPTestSupport", "S3Source", "Upload", "blob"),
        // A server for the tests of sources that read over HTTP.
        .target(
            name: "HTTPTestSupport", dependencies: ["BlobCore", "BlobTestSupport"], path: "Tests/HTTPTestSupport",
            exclude: ["Certificates"], swiftSettings: settings),
    ]
    package.products += [
        .library(name: "BlobTransfer", targets: ["BlobTransfer"]),
        .library(name: "HTTPSource", targets: ["HTTPSource"]),
        .library(name: "S3Source", targets: ["S3Source"]),
    ]
    package.targets.first { $0.name == "BlobStreamsStandard" }?.dependencies += ["HTTPSource", "S3Source"]
    package.targets.first { $0.name == "blob" }?.dependencies.append("BlobTransfer")
    package.targets.first { $0.name == "BlobCommandTests" }?.dependencies.append("HTTPTestSupport")
    package.targets.first { $0.name == "ExamplesTests" }?.dependencies.append("Upload")
    package.targets.first { $0.name == "soak" }?.dependencies += [
        "HTTPTestSupport", .product(name: "Crypto", package: "swift-crypto"),
    ]
}

if hasAssetLibrary && hasUploads {
    package.targets += [
        .executableTarget(
            name: "AssetPicker",
            dependencies: [
                "AssetLibrarySource", "BlobStreamsStandard", "BlobTransfer", "MultipartFormData",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Examples/AssetPicker", resources: [.embedInCode("Page")], swiftSettings: settings),
        tests(
            "AssetPickerTests", "AssetPicker", "BlobStreams", "BlobTestSupport", "FileSource", "blob-receive",
            .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
            .product(name: "NIOHTTP1", package: "swift-nio")),
    ]
    package.targets.first { $0.name == "ExamplesTests" }?.dependencies += ["AssetPicker", "blob-media-helper"]
}

if let fuzzer {
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzzing/CFuzzer"),
        .executableTarget(
            name: "fuzz", dependencies: ["CFuzzer", "FuzzChecks"], path: "Tests/Fuzzing/fuzz", swiftSettings: settings,
            linkerSettings: [.unsafeFlags([fuzzer]), .linkedLibrary("stdc++"), .linkedLibrary("m")]),
    ]
}

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + strictness
    // The counters that libFuzzer observes.
    if fuzzer != nil { target.swiftSettings? += [.unsafeFlags(["-Xfrontend", "-sanitize=fuzzer"])] }
}
