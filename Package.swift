// swift-tools-version: 6.2

import PackageDescription

/// The build of the continuous integration has no warnings; everybody else's is not stopped by one.
let settings: [SwiftSetting] =
    Context.environment["BLOBSTREAMS_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// Uploads need the headers of libcurl; the library itself is loaded by those who upload.
let hasUploads = Context.environment["BLOBSTREAMS_WITHOUT"]?.split(separator: ",").contains("BlobHTTP") != true
let uploadFilesLeftOut = hasUploads ? [] : ["Uploads"]

let package = Package(
    name: "BlobStreams",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "BlobStreams", targets: ["BlobStreams"]),
        .library(name: "BlobStreamsStandard", targets: ["BlobStreamsStandard"]),
        .library(name: "BlobStreamsTesting", targets: ["BlobStreamsTesting"]),
        .library(name: "FileSource", targets: ["FileSource"]),
        .library(name: "CryptoDigest", targets: ["CryptoDigest"]),
        .library(name: "MultipartFormData", targets: ["MultipartFormData"]),
        .library(name: "MultipartURLRequest", targets: ["MultipartURLRequest"]),
        .executable(name: "blob", targets: ["blob"]),
        .executable(name: "blob-receive", targets: ["blob-receive"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    ],
    targets: [
        .target(name: "BlobStreams", swiftSettings: settings),
        .target(
            name: "BlobStreamsStandard", dependencies: ["BlobStreams", "FileSource", "CryptoDigest"],
            swiftSettings: settings),
        .target(name: "BlobStreamsTesting", dependencies: ["BlobStreams"], swiftSettings: settings),
        .target(name: "FileSource", dependencies: ["BlobStreams"], path: "Plugins/FileSource", swiftSettings: settings),
        .target(
            name: "CryptoDigest",
            dependencies: ["BlobStreams", .product(name: "Crypto", package: "swift-crypto")],
            path: "Plugins/CryptoDigest", swiftSettings: settings),
        .target(name: "BlobReceiving", dependencies: ["BlobStreams", "CryptoDigest"], swiftSettings: settings),
        .executableTarget(
            name: "blob-receive",
            dependencies: [
                "BlobReceiving", .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: settings),
        .executableTarget(
            name: "blob",
            dependencies: [
                "BlobStreamsStandard", "BlobStreamsTesting", "MultipartFormData",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], exclude: uploadFilesLeftOut,
            swiftSettings: settings + (hasUploads ? [.define("BLOBSTREAMS_UPLOADS")] : [])),
        .executableTarget(
            name: "Checksum", dependencies: ["BlobStreamsStandard"], path: "Examples/Checksum", swiftSettings: settings),
        .target(
            name: "MultipartFormData", dependencies: ["BlobStreams", "CryptoDigest", "FileSource"],
            path: "Examples/MultipartFormData", swiftSettings: settings),
        // Apart from the form: on Linux it links FoundationNetworking, which `blob` must not.
        .target(
            name: "MultipartURLRequest", dependencies: ["BlobStreams", "MultipartFormData"],
            path: "Examples/MultipartURLRequest", swiftSettings: settings),
        .executableTarget(
            name: "ComposeForm", dependencies: ["BlobStreamsStandard", "MultipartFormData"],
            path: "Examples/ComposeForm", swiftSettings: settings),
        .executableTarget(
            name: "CustomSource", dependencies: ["BlobStreamsStandard", "BlobStreamsTesting"],
            path: "Examples/CustomSource", swiftSettings: settings),
        .executableTarget(
            name: "EventDrivenSource", dependencies: ["BlobStreamsStandard", "BlobStreamsTesting"],
            path: "Examples/EventDrivenSource", swiftSettings: settings),
        .executableTarget(
            name: "SynchronousChecksum", dependencies: ["BlobStreamsStandard"], path: "Examples/SynchronousChecksum",
            swiftSettings: settings),
        .executableTarget(
            name: "RunLoopChecksum", dependencies: ["BlobStreamsStandard"], path: "Examples/RunLoopChecksum",
            swiftSettings: settings),
        .executableTarget(
            name: "ObservedProgress", dependencies: ["BlobStreamsStandard"], path: "Examples/ObservedProgress",
            swiftSettings: settings),
        .testTarget(
            name: "BlobStreamsTestingTests", dependencies: ["BlobStreams", "BlobStreamsTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "blob", "Checksum", "CustomSource", "EventDrivenSource", "SynchronousChecksum", "RunLoopChecksum",
                "ObservedProgress", "ComposeForm",
            ], swiftSettings: settings),
        .testTarget(
            name: "ConformanceTests", dependencies: ["BlobStreamsStandard", "BlobStreamsTesting"],
            swiftSettings: settings),
        // Its tests run the command as a process; the dependency has it built.
        .testTarget(
            name: "BlobCommandTests", dependencies: ["blob", "blob-receive"], exclude: uploadFilesLeftOut,
            swiftSettings: settings),
        .testTarget(
            name: "MultipartFormDataTests",
            dependencies: ["BlobStreamsStandard", "BlobStreamsTesting", "MultipartFormData"], swiftSettings: settings),
        .testTarget(
            name: "MultipartURLRequestTests", dependencies: ["BlobStreams", "MultipartURLRequest"],
            swiftSettings: settings),
        .testTarget(name: "BlobStreamsTests", dependencies: ["BlobStreams"], swiftSettings: settings),
        .testTarget(
            name: "BlobReceivingTests", dependencies: ["BlobReceiving"], swiftSettings: settings),
        .testTarget(
            name: "CryptoDigestTests", dependencies: ["BlobStreams", "CryptoDigest"], swiftSettings: settings),
        .testTarget(name: "FileSourceTests", dependencies: ["BlobStreams", "FileSource"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

if hasUploads {
    package.targets += [
        .target(name: "CCurl"),
        .target(name: "BlobHTTP", dependencies: ["BlobStreams", "CCurl"], swiftSettings: settings),
        .testTarget(
            name: "BlobHTTPTests", dependencies: ["BlobHTTP", "BlobStreamsTesting"], swiftSettings: settings),
    ]
    package.targets.first { $0.name == "blob" }?.dependencies.append("BlobHTTP")
}
