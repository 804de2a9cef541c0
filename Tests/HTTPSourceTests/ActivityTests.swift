import BlobCore
import BlobStreamsStandard
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// What an observer is told of a job.
@Suite struct ActivityTests {
    /// The content of a gzip on a server that fails once.
    @Test func eachLayerAndEachRequestIsObserved() throws {
        let folder = try TemporaryFolder()
        let made = try FinishedProcess("sh", ["-c", "seq 1 700000 | gzip > $0", folder.path("a.gz")])
        #expect(made.status == 0, "\(made.errors)")
        let archive = Array(try Data(contentsOf: URL(fileURLWithPath: folder.path("a.gz"))))
        let failing = Locked(-1)
        let server = try ObjectServer(archive) { number, _, connection in
            guard failing.withLock({ $0 }) == number else { return false }
            _ = connection.send("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let locator = "gzip+http://user:s3cret@127.0.0.1:\(server.port)/a.gz?sig=s3cret"
        let registry = BlobRegistry.standard
        var built = BlobContext(index: .file(folder.path("index")))
        built.mayBlock = true
        let gzip = try registry.source(for: locator, context: built)
        #expect(try (gzip as? any BlobIndexing)?.buildIndex(built) == true)

        let recorder = ActivityRecorder()
        var context = recorder.context
        context.index = built.index
        let source = try registry.source(for: locator, context: built).layered { $0.retry = BlobRetry() }
        let (first, sent) = (server.requests.count, server.sentByteCount)
        failing.withLock { $0 = first }
        #expect(try readAll(source.open(at: 4_500_000, context: context)).suffix(7) == Array("700000\n".utf8))

        let ended = recorder.ended.withLock { $0 }
        #expect(recorder.begun.withLock { $0 } == ended.count, "Each activity ends, once.")
        let layers = ended.filter { $0.kind == .read }
        for (name, parent) in [("GzipSource", "RetrySource"), ("HTTPSource", "GzipSource")] {
            #expect(
                layers.contains { $0.name == name && $0.parents.contains(parent) },
                "\(layers.map { ($0.name, $0.parents, $0.error) })")
        }
        let requests = ended.filter { $0.kind == .request }
        let asked = server.requests[first...].filter { $0.fields["traceparent"] != nil }
        #expect(requests.count == asked.count && requests.count >= 2)
        #expect(
            requests.allSatisfy { $0.name == "GET" && $0.parents.suffix(2) == ["RetrySource", "job"] },
            "\(requests.map { ($0.parents, $0.error) })")
        #expect(requests.count { $0.error == .unavailable && $0.state.status == 503 } == 1, "\(requests)")
        #expect(requests.allSatisfy { $0.state.timeToFirstByte != nil })
        let received = requests.reduce(0) { $0 + $1.state.readByteCount }
        #expect(received > 0 && received <= Int64(server.sentByteCount - sent))
        #expect(
            recorder.read.withLock { $0["GET"] } == received, "What is counted on the way is what is told at the end.")
        let events = recorder.events.withLock { $0 }
        #expect(events.contains { $0.0.kind == .indexUsed && $0.of == "GzipSource" }, "\(events)")
        #expect(
            events.contains { $0.0.kind == .recovering && $0.0.attempt == 1 }, "\(events.map { ($0.0.kind, $0.of) })")
        #expect(events.contains { $0.0.kind == .recovered })
        #expect(!"\(ended)".contains("s3cret"))

        // A layer that reads ahead takes over the stream of its base, and the activity with it.
        let other = ActivityRecorder()
        let ahead = ReadAheadSource(try registry.source(for: locator, context: built))
        context.activity = other.context.activity
        let byteCount = try readAll(ahead.open(at: 4_500_000, context: context)).count
        // Readers are closed on the threads that read.
        while other.begun.withLock({ $0 }) > other.ended.withLock({ $0.count }) { sched_yield() }
        let decoded = other.ended.withLock { $0.filter { $0.name == "GzipSource" } }
        #expect(decoded.map(\.state.readByteCount) == [Int64(byteCount)], "\(decoded)")
        #expect(server.requests.allSatisfy { $0.fields["bad"] == nil && $0.fields["smuggled"] == nil })
    }

    /// Long before its end, an observer knows how far a reader has come.
    @Test func theProgressOfALongReadIsObserved() throws {
        let recorder = ActivityRecorder()
        let reader = try MemorySource([UInt8](repeating: 1, count: 40 << 20)).open(context: recorder.context)
        var counts: Set<Int64> = []
        while try !read(reader, upTo: 1 << 20).isEmpty {
            counts.insert(recorder.read.withLock { $0["MemorySource"] ?? 0 })
        }
        #expect(counts.sorted().count >= 3 && counts.allSatisfy { $0 <= 40 << 20 }, "\(counts.sorted())")
        reader.close()
        #expect(recorder.read.withLock { $0["MemorySource"] } == 40 << 20)
    }
}
