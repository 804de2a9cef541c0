// swift-tools-version: 6.2

import PackageDescription

/// A package of its own, so that the library has no product and no platform of its benchmarks.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "BlobStreams", path: "..")],
    targets: [
        .executableTarget(
            name: "stream-benchmarks",
            dependencies: [
                .product(name: "BlobStreams", package: "BlobStreams"),
                .product(name: "FileSource", package: "BlobStreams"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
