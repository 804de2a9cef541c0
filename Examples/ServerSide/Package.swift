// swift-tools-version: 6.2

import PackageDescription

let blobs: (String) -> Target.Dependency = { .product(name: $0, package: "BlobStreams") }
let nio: (String) -> Target.Dependency = { .product(name: $0, package: "swift-nio") }
let hummingbird: (String) -> Target.Dependency = { .product(name: $0, package: "hummingbird") }

/// A separate package, because the library depends on async-http-client only on request, as it does here, and on no
/// framework for servers.
let package = Package(
    name: "ServerSide",
    platforms: [.macOS(.v15)],
    products: [.library(name: "BlobStreamsHummingbird", targets: ["BlobStreamsHummingbird"])],
    dependencies: [
        .package(
            name: "BlobStreams", path: "../..", traits: ["AsyncHTTPClient", "Observability", "Photos", "Receiver"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .target(
            name: "BlobStreamsHummingbird",
            dependencies: [
                blobs("BlobCore"), blobs("BlobReceiving"), hummingbird("Hummingbird"), nio("NIOCore"), nio("NIOPosix"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .executableTarget(
            name: "DrainingServer",
            dependencies: [
                blobs("BlobCore"), blobs("BlobReceiving"), blobs("BlobStreamsNIO"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "FormToS3",
            dependencies: [
                blobs("BlobCore"), blobs("BlobReceiving"), blobs("CryptoDigest"), blobs("S3Source"),
                hummingbird("Hummingbird"),
            ]),
        .executableTarget(
            name: "NIOForm",
            dependencies: [
                blobs("BlobCore"), blobs("BlobReceiving"), blobs("CryptoDigest"), nio("NIOCore"), nio("NIOHTTP1"),
                nio("NIOPosix"),
            ]),
        .executableTarget(
            name: "ServerSide",
            dependencies: [
                blobs("BlobStreamsNIO"), blobs("BlobStreamsStandard"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]),
        .testTarget(
            name: "ServerSideTests",
            dependencies: [
                "BlobStreamsHummingbird", "FormToS3", "NIOForm", blobs("BlobReceiving"), blobs("BlobStreams"),
                blobs("BlobStreamsNIO"), blobs("CryptoDigest"), hummingbird("Hummingbird"),
                hummingbird("HummingbirdTesting"), nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOPosix"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: [
                "DrainingServer", blobs("BlobObservability"), blobs("BlobReceiving"), blobs("BlobStreamsNIO"),
                blobs("BlobStreamsStandard"), blobs("BlobTransfer"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .testTarget(
            name: "BlobStreamsNIOTests",
            dependencies: [
                blobs("BlobStreamsNIO"), blobs("BlobStreams"), blobs("GzipSource"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
