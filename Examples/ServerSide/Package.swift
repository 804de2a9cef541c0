// swift-tools-version: 6.2

import PackageDescription

/// A separate package, because the library depends on async-http-client only on request, as it does here.
let package = Package(
    name: "ServerSide",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "BlobStreams", path: "../..", traits: ["AsyncHTTPClient", "Photos"]),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    ],
    targets: [
        .executableTarget(
            name: "ServerSide",
            dependencies: [
                .product(name: "BlobStreamsNIO", package: "BlobStreams"),
                .product(name: "BlobStreamsStandard", package: "BlobStreams"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]),
        .testTarget(
            name: "BlobStreamsNIOTests",
            dependencies: [
                .product(name: "BlobStreamsNIO", package: "BlobStreams"),
                .product(name: "BlobStreams", package: "BlobStreams"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
