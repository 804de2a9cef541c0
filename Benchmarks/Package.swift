// swift-tools-version: 6.2

import PackageDescription

/// A package of its own, so that the library has no product and no platform of its benchmarks.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "BlobStreams", path: "..")],
    targets: [
        .systemLibrary(name: "CHeap"),
        .executableTarget(
            name: "stream-benchmarks",
            dependencies: [
                "CHeap",
                .product(name: "BlobStreams", package: "BlobStreams"),
                .product(name: "FileSource", package: "BlobStreams"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
