// swift-tools-version: 6.2

import PackageDescription

/// The benchmarks are a separate package, so that the library does not declare their product or their platforms.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "BlobStreams", path: "..", traits: ["Observability"])],
    targets: [
        .systemLibrary(name: "CHeap"),
        .executableTarget(
            name: "stream-benchmarks",
            dependencies: [
                "CHeap",
                .product(name: "BlobObservability", package: "BlobStreams"),
                .product(name: "BlobStreams", package: "BlobStreams"),
                .product(name: "FileSource", package: "BlobStreams"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
