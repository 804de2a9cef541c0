import BlobCore
import BlobObservability
import BlobReceiving
import BlobStreamsNIO
import BlobStreamsStandard
import BlobTransfer
import Foundation
import InMemoryTracing
import Logging
import MetricsTestKit
import Testing
import Tracing

/// Logs, metrics and spans of jobs.
@Suite(.timeLimit(.minutes(2))) struct ObservabilityTests {
    private static let secret = "s3cret"

    /// A folder with `a.tgz`, of which `m.txt` has so many bytes, and a server of it.
    private struct Archive {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("observed-\(UUID())")
        let byteCount: Int
        let server: HTTPServer.Listening
        let requests = Requests()

        init() throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            let script = "cd \"$0\" && seq 1 3000000 > m.txt && tar -czf a.tgz m.txt && touch -d 2020-01-01 a.tgz"
            let make = try Process.run(
                URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", script, self.folder.path])
            make.waitUntilExit()
            self.byteCount = try Data(contentsOf: self.folder.appendingPathComponent("m.txt")).count
            let path = self.folder.appendingPathComponent("a.tgz").path
            let served = try ServedBlobs(
                [ServedBlobs.Item("a.tgz", .source(FileSource(path)))], registry: .standard, token: nil)
            let requests = self.requests
            self.server = try HTTPServer(RecordedService(service: served, requests: requests))
                .listen(host: "127.0.0.1", port: 0)
        }

        var locator: String {
            "tar+gzip+http://user:\(ObservabilityTests.secret)@127.0.0.1:\(self.server.port)/a.tgz"
                + "?X-Amz-Signature=\(ObservabilityTests.secret)#m.txt"
        }

        func remove() {
            self.server.drain()
            try? FileManager.default.removeItem(at: self.folder)
        }
    }

    @Test func aMemberOnAServerIsTracedCountedAndLogged() async throws {
        let archive = try Archive()
        defer { archive.remove() }
        let (tracer, metrics, entries) = (InMemoryTracer(), TestMetrics(), Entries())
        var logger = Logger(label: "test") { _ in EntryHandler(entries: entries) }
        logger.logLevel = .trace
        var parent: ServiceContext = .topLevel
        let span = tracer.startSpan("job", context: parent)
        parent = span.context

        var context = BlobContext(
            index: .folder(archive.folder.appendingPathComponent("i").path, maximumByteCount: 1 << 30)
        )
        .observed(logger: logger, metrics: metrics, tracer: tracer, serviceContext: parent)
        context.mayBlock = true
        #expect(context.serviceContext?.inMemorySpanContext == span.context.inMemorySpanContext)
        // The first reading builds an index, which the second one uses.
        for pass in 0..<2 {
            let source = try BlobRegistry.standard.source(for: archive.locator, context: context)
            var byteCount = 0
            for try await chunk in source.chunks(at: pass == 0 ? 0 : 4_000_000, context: context) {
                byteCount += chunk.count
            }
            #expect(byteCount == archive.byteCount - (pass == 0 ? 0 : 4_000_000))
        }
        span.end()

        // Each span ends, some of them on threads that close readers.
        while !tracer.activeSpans.isEmpty { await Task.yield() }
        let spans = tracer.finishedSpans
        let byID = Dictionary(uniqueKeysWithValues: spans.map { ($0.spanID, $0) })
        func names(over span: FinishedInMemorySpan) -> [String] {
            Array(sequence(first: span) { $0.parentSpanID.flatMap { byID[$0] } }.map(\.operationName))
        }
        let requests = spans.filter { $0.operationName == "GET" }
        #expect(requests.count == archive.requests.heads.count && requests.count > 1)
        #expect(requests.allSatisfy { $0.kind == .client && names(over: $0).last == "job" })
        #expect(
            requests.contains {
                names(over: $0).contains("read GzipSource") && names(over: $0).contains("read MemberSource")
            },
            "\(spans.map(names))")
        for request in requests {
            #expect(request.attributes.get("http.request.method") == .string("GET"))
            #expect(request.attributes.get("server.address") == .string("127.0.0.1"))
            #expect(request.attributes.get("server.port") == .int64(Int64(archive.server.port)))
            #expect(request.attributes.get("http.response.status_code") == .int64(206))
            #expect(request.attributes.get("http.response.body.size") != nil)
        }
        // The server can continue the trace.
        let traced = archive.requests.heads.filter { head in
            head.fields.contains { $0.name == "in-memory-trace-id" && $0.value == requests.first?.traceID }
        }
        #expect(traced.count == requests.count)
        let events = spans.flatMap { span in span.events.map { ($0.name, span.operationName) } }
        #expect(events.contains { $0.0 == "index used" }, "\(events)")
        #expect(events.contains { $0.0 == "verified" }, "\(events)")

        let received = try metrics.expectCounter("blob.received.bytes", [("scheme", "http")])
        let sizes = requests.compactMap { span -> Int64? in
            if case .int64(let size)? = span.attributes.get("http.response.body.size") { size } else { nil }
        }
        #expect(received.totalValue == sizes.reduce(0, +))
        let read = try metrics.expectCounter(
            "blob.read.bytes", [("scheme", "tar+gzip+http"), ("layer", "MemberSource")])
        #expect(read.totalValue == Int64(2 * archive.byteCount - 4_000_000))
        #expect(try metrics.expectMeter("blob.readers.open").lastValue == 0)
        #expect(try metrics.expectCounter("blob.index.hits", [("layer", "GzipSource")]).totalValue > 0)
        #expect(metrics.counters.contains { $0.label == "blob.requests" })

        let texts = entries.all
        #expect(texts.contains { $0.contains("request ended") && $0.contains("blob.status=206") }, "\(texts)")
        let told =
            texts + spans.map { "\($0)" } + metrics.counters.map { "\($0.label) \($0.dimensions)" }
            + metrics.timers.map { "\($0.label) \($0.dimensions)" }
        #expect(told.count > 20 && !told.contains { $0.contains(Self.secret) })
    }

    /// The readers of a download count its bytes, and the download does not count them again.
    @Test func theBytesOfADownloadAreCountedOnce() throws {
        let (tracer, metrics) = (InMemoryTracer(), TestMetrics())
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("counted-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try MemorySource([UInt8](repeating: 1, count: 300_000)).write(
            to: file, resuming: BlobDownloadOptions(), context: BlobContext().observed(metrics: metrics, tracer: tracer)
        )
        #expect(metrics.counterTotal(label: "blob.read.bytes") == 300_000)
        let download = try #require(tracer.finishedSpans.first { $0.operationName.hasPrefix("download ") })
        #expect(download.attributes.get("blob.bytes") == .int64(300_000))
    }

    @Test func aFailedUploadIsAnErrorOfItsSpan() async throws {
        let (tracer, metrics) = (InMemoryTracer(), TestMetrics())
        let context = BlobContext().observed(metrics: metrics, tracer: tracer)
        let request = BlobUploadRequest(.put, "http://a:\(Self.secret)@127.0.0.1:1/x?\(Self.secret)")
        await #expect(throws: BlobError.self) {
            _ = try await BlobUploader().upload(MemorySource([1, 2, 3]), with: request, context: context)
        }
        let upload = try #require(tracer.finishedSpans.last)
        #expect(upload.operationName == "upload PUT" && upload.status?.code == .error)
        #expect(upload.attributes.get("error.type") == .string("unavailable"))
        #expect(try metrics.expectTimer("blob.upload.duration", [("error", "unavailable")]).values.count == 1)
        #expect(!"\(tracer.finishedSpans)".contains(Self.secret))
    }

    /// While an upload is being received, SIGTERM lets it finish, and SIGINT ends it; then the server ends.
    @Test(arguments: [SIGTERM, SIGINT]) func aServerEndsAfterASignal(signal: CInt) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("drained-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("DrainingServer")
        let (process, output) = (Process(), Pipe())
        (process.executableURL, process.arguments, process.standardOutput) = (program, [folder.path], output)
        (process.standardError) = FileHandle.nullDevice
        try process.run()
        let url = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).dropLast()
        let pipe = BlobPipe(info: BlobInfo(byteCount: 3_000_000))
        async let answer = BlobUploader().upload(pipe.source, with: BlobUploadRequest(.put, "\(url)film.mov"))
        let (first, rest) = (Data(repeating: 1, count: 1_000_000), Data(repeating: 2, count: 2_000_000))
        try await pipe.write(first)
        // Once a byte has been received, a file is being written.
        while try FileManager.default.subpathsOfDirectory(atPath: folder.path).isEmpty { await Task.yield() }
        kill(process.processIdentifier, signal)
        if signal == SIGTERM {
            try await pipe.write(rest)
            pipe.finish()
            #expect(try await answer.status == 201)
        } else {
            process.waitUntilExit()
            pipe.finish(throwing: CancellationError())
            let status = try? await answer.status
            #expect(status == nil)
        }
        process.waitUntilExit()
        #expect(signal == SIGINT || process.terminationReason == .exit && process.terminationStatus == 0)
    }
}

/// The heads of requests.
private final class Requests: @unchecked Sendable {  // Safe: the lock protects the heads.
    private let lock = NSLock()
    private var known: [RequestHead] = []

    var heads: [RequestHead] { self.lock.withLock { self.known } }

    func add(_ head: RequestHead) { self.lock.withLock { self.known.append(head) } }
}

/// Remembers the heads of the requests that another service answers.
private struct RecordedService: RequestService {
    let service: any RequestService
    let requests: Requests

    func receiver(for head: RequestHead) throws(BlobError) -> any BodyReceiver {
        self.requests.add(head)
        return try self.service.receiver(for: head)
    }
}

/// The entries of a log, as text.
private final class Entries: @unchecked Sendable {  // Safe: the lock protects the texts.
    private let lock = NSLock()
    private var texts: [String] = []

    var all: [String] { self.lock.withLock { self.texts } }

    func add(_ text: String) { self.lock.withLock { self.texts.append(text) } }
}

private struct EntryHandler: LogHandler {
    let entries: Entries
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).map { " \($0.key)=\($0.value)" }.sorted().joined()
        self.entries.add("\(event.level) \(event.message)\(fields)")
    }
}
