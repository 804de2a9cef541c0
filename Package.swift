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
        let folders = paths + ["/usr/include", "/usr/local/include"]
        let isFound = folders.contains { FileManager.default.fileExists(atPath: "\($0)/\(header)") }
        return isFound && !partsTurnedOff.contains(part)
    #endif
}

let hasAssetLibrary = isOn("AssetLibrarySource", header: "sqlite3.h")

/// What the umbrella, the command and their tests are told, and which of their files are left out.
let partSettings: [SwiftSetting] = settings + (hasAssetLibrary ? [.define("BLOBSTREAMS_ASSET_LIBRARY")] : [])
let filesLeftOut = hasAssetLibrary ? [] : ["AssetLibrary"]

let package = Package(
    name: "BlobStreams",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "BlobStreams", targets: ["BlobStreams"]),
        .library(name: "BlobStreamsStandard", targets: ["BlobStreamsStandard"]),
        .library(name: "BlobStreamsTesting", targets: ["BlobStreamsTesting"]),
        .library(name: "FileSource", targets: ["FileSource"]),
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
            name: "BlobStreamsStandard", dependencies: ["BlobStreams", "FileSource", "CryptoDigest"],
            swiftSettings: partSettings),
        .target(name: "BlobStreamsTesting", dependencies: ["BlobStreams"], swiftSettings: settings),
        .target(name: "FileSource", dependencies: ["BlobStreams"], path: "Plugins/FileSource", swiftSettings: settings),
        .target(
            name: "CryptoDigest",
            dependencies: ["BlobStreams", .product(name: "Crypto", package: "swift-crypto")],
            path: "Plugins/CryptoDigest", swiftSettings: settings),
        .executableTarget(
            name: "blob",
            dependencies: [
                "BlobStreamsStandard", "BlobStreamsTesting",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], exclude: filesLeftOut, swiftSettings: partSettings),
        .executableTarget(
            name: "Checksum", dependencies: ["BlobStreamsStandard"], path: "Examples/Checksum", swiftSettings: settings),
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
                "ObservedProgress",
            ], swiftSettings: settings),
        .testTarget(
            name: "ConformanceTests", dependencies: ["BlobStreamsStandard", "BlobStreamsTesting"],
            swiftSettings: partSettings),
        // Its tests run the command as a process; the dependency has it built.
        .testTarget(
            name: "BlobCommandTests", dependencies: ["blob"], exclude: filesLeftOut, swiftSettings: partSettings),
        .testTarget(name: "BlobStreamsTests", dependencies: ["BlobStreams"], swiftSettings: settings),
        .testTarget(
            name: "CryptoDigestTests", dependencies: ["BlobStreams", "CryptoDigest"], swiftSettings: settings),
        .testTarget(name: "FileSourceTests", dependencies: ["BlobStreams", "FileSource"], swiftSettings: settings),
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
                "BlobStreams", "CryptoDigest", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            path: "Plugins/AssetLibrarySource", swiftSettings: settings),
        // Kills itself in the middle of an import.
        .executableTarget(
            name: "KilledImport", dependencies: ["AssetLibrarySource", "FileSource"], path: "Tests/KilledImport",
            swiftSettings: settings),
        .testTarget(
            name: "AssetLibrarySourceTests",
            dependencies: [
                "AssetLibrarySource", "BlobStreamsTesting", "FileSource", "KilledImport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: settings),
    ]
    package.targets.first { $0.name == "BlobStreamsStandard" }?.dependencies.append("AssetLibrarySource")
}
