// swift-tools-version: 6.2

import PackageDescription

/// The build of the continuous integration has no warnings; everybody else's is not stopped by one.
let settings: [SwiftSetting] =
    Context.environment["BLOBSTREAMS_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// A program that shows one use, run by a test.
func example(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(
        name: name, dependencies: ["BlobStreamsStandard"] + dependencies, path: "Examples/\(name)",
        swiftSettings: settings)
}

let package = Package(
    name: "BlobStreams",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "BlobStreams", targets: ["BlobStreams"]),
        .library(name: "BlobStreamsStandard", targets: ["BlobStreamsStandard"]),
        .library(name: "BlobStreamsTesting", targets: ["BlobStreamsTesting"]),
        .library(name: "BlobURLSession", targets: ["BlobURLSession"]),
        .library(name: "FileSource", targets: ["FileSource"]),
        .library(name: "GzipSource", targets: ["GzipSource"]),
        .library(name: "ArchiveSource", targets: ["ArchiveSource"]),
        .library(name: "CryptoDigest", targets: ["CryptoDigest"]),
        .executable(name: "blob", targets: ["blob"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
    ],
    targets: [
        .target(name: "BlobStreams", swiftSettings: settings),
        .target(
            name: "BlobStreamsStandard",
            dependencies: ["BlobStreams", "FileSource", "GzipSource", "ArchiveSource", "CryptoDigest"],
            swiftSettings: settings),
        .target(name: "BlobStreamsTesting", dependencies: ["BlobStreams"], swiftSettings: settings),
        // Apart from all others: on Linux it links FoundationNetworking, which `blob` must not.
        .target(name: "BlobURLSession", dependencies: ["BlobStreams"], swiftSettings: settings),
        .target(name: "FileSource", dependencies: ["BlobStreams"], path: "Plugins/FileSource", swiftSettings: settings),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "BlobInflate", dependencies: ["BlobStreams", "CZlib"], swiftSettings: settings),
        .target(
            name: "GzipSource", dependencies: ["BlobStreams", "BlobInflate"], path: "Plugins/GzipSource",
            swiftSettings: settings),
        .systemLibrary(
            name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"]), .brew(["libarchive"])]),
        .target(
            name: "ArchiveSource", dependencies: ["BlobStreams", "BlobInflate", "CArchive"],
            path: "Plugins/ArchiveSource",
            swiftSettings: settings),
        .target(
            name: "CryptoDigest",
            dependencies: ["BlobStreams", .product(name: "Crypto", package: "swift-crypto")],
            path: "Plugins/CryptoDigest", swiftSettings: settings),
        .executableTarget(
            name: "blob",
            dependencies: [
                "BlobStreamsStandard", "BlobStreamsTesting",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: settings),
        example("BoundPairPump"),
        example("Checksum"),
        example("CustomSource", "BlobStreamsTesting"),
        example("EventDrivenSource", "BlobStreamsTesting"),
        example("ObservedProgress"),
        example("RunLoopChecksum"),
        example("SynchronousChecksum"),
        example("UploadFile", "BlobURLSession"),
        .testTarget(
            name: "BlobStreamsTestingTests", dependencies: ["BlobStreams", "BlobStreamsTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "blob", "BoundPairPump", "Checksum", "CustomSource", "EventDrivenSource", "ObservedProgress",
                "RunLoopChecksum", "SynchronousChecksum",
            ], swiftSettings: settings),
        .testTarget(
            name: "ConformanceTests", dependencies: ["BlobStreamsStandard", "BlobStreamsTesting"],
            swiftSettings: settings),
        // Its tests run the command as a process; the dependency has it built.
        .testTarget(name: "BlobCommandTests", dependencies: ["blob"], swiftSettings: settings),
        .testTarget(
            name: "BlobURLSessionTests",
            dependencies: ["BlobStreams", "BlobStreamsTesting", "BlobURLSession", "UploadFile"],
            swiftSettings: settings),
        .testTarget(name: "BlobStreamsTests", dependencies: ["BlobStreams"], swiftSettings: settings),
        .testTarget(
            name: "CryptoDigestTests", dependencies: ["BlobStreams", "CryptoDigest"], swiftSettings: settings),
        .testTarget(
            name: "ArchiveSourceTests",
            dependencies: ["BlobStreams", "BlobStreamsTesting", "FileSource", "GzipSource", "ArchiveSource"],
            swiftSettings: settings),
        .testTarget(name: "BlobInflateTests", dependencies: ["BlobStreams", "BlobInflate"], swiftSettings: settings),
        .testTarget(
            name: "GzipSourceTests",
            dependencies: ["BlobStreams", "BlobStreamsTesting", "CZlib", "FileSource", "GzipSource"],
            swiftSettings: settings),
        .testTarget(name: "FileSourceTests", dependencies: ["BlobStreams", "FileSource"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
