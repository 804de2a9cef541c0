import BlobPlatform
import BlobStreams
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

@testable import BlobTransfer

/// The loop of transfers when libcurl itself fails, and when many names are looked up.
@Suite(.timeLimit(.minutes(2))) struct TransferLoopTests {
    /// A sink that records how its transfer ends.
    private final class Ending: TransferSink {
        let errors = Recorder<BlobError?>()

        func begin(_ head: ResponseHead) -> TransferDisposition { .deliver }
        func receive(_ bytes: UnsafeRawBufferPointer) -> Bool { true }
        func flush() {}
        func end(_ error: BlobError?) { self.errors.append(error) }
    }

    private static func transfer(
        _ url: String, on loop: Result<TransferLoop, BlobError> = TransferLoop.shared
    ) throws -> (Transfer, Ending) {
        let ending = Ending()
        return (Transfer(TransferRequest(try TransferURL(url)), ending, on: loop), ending)
    }

    /// Waiting for events fails from some moment on: each transfer ends with the error, and the thread does not spin.
    @Test func aLoopThatCannotWaitEndsItsTransfersAndRests() async throws {
        let server = try ObjectServer([]) { _, _, connection in
            connection.waitForEnd()
            return true
        }
        let (waits, fails) = (Locked(0), Locked(false))
        let loop = try TransferLoop { multi, time, others throws(BlobError) in
            waits.withLock { $0 += 1 }
            guard !fails.withLock({ $0 }) else { throw BlobError(.internalError, "libcurl: No memory.") }
            try multi.wait(milliseconds: time, for: others)
        }
        let (first, firstEnding) = try Self.transfer(server.url, on: .success(loop))
        try first.start()
        while server.requests.isEmpty { await Task.yield() }
        fails.withLock { $0 = true }
        waits.withLock { $0 = 0 }
        #expect(await firstEnding.errors.values(count: 1).first??.code == .internalError)
        for _ in 0..<10 {
            let (transfer, ending) = try Self.transfer(server.url, on: .success(loop))
            try transfer.start()
            #expect(await ending.errors.values(count: 1).first??.message == "libcurl: No memory.")
        }
        #expect(waits.withLock { $0 } <= 12)
        // A connection that is about to close is not forgotten.
        var ends: [CInt] = [0, 0]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let (closings, socket) = (Recorder<Bool>(), PeerSocket(ends[0]))
        loop.perform { loop in
            loop.closingSockets.close(socket, within: .seconds(3600)) { closings.append($0) }
        }
        #expect(await closings.values(count: 1) == [false])
        // When waiting succeeds again, so do transfers.
        fails.withLock { $0 = false }
        let other = try ObjectServer([1, 2, 3])
        let (last, lastEnding) = try Self.transfer(other.url, on: .success(loop))
        try last.start()
        #expect(await lastEnding.errors.values(count: 1).first?.map(\.code) == nil)
    }

    /// Lookups count until they are over; those that begin are the ones that have waited for longest.
    @Test func fewLookupsAreUnderWayAtATime() throws {
        var limiter = LookupLimiter()
        let transfers = try (0..<100).map { try Self.transfer("http://127.0.0.1:1/\($0)").0 }
        for transfer in transfers { limiter.enqueue(transfer) }
        var handles: [CurlHandle] = []
        for round in 0..<4 {
            var begun: [any LoopTransfer] = []
            while let transfer = limiter.next() {
                let handle = try CurlHandle()
                handles.append(handle)
                limiter.begin(try #require(handle.identity), handle)
                begun.append(transfer)
            }
            let start = round * LookupLimiter.maximumLookupCount
            let expected = transfers.dropFirst(start).prefix(32)
            #expect(begun.map(ObjectIdentifier.init) == expected.map(ObjectIdentifier.init))
            // None has an address: they keep their places.
            #expect(limiter.takeHandlesWithAddress().isEmpty && !limiter.hasNext && !limiter.isEmpty)
            for handle in handles {
                #expect(handle.identity.map { limiter.contains($0) } == true)
                _ = handle.identity.map { limiter.take($0) }
            }
            handles = []
        }
        #expect(limiter.isEmpty)
    }

    /// Names whose lookup needs no server, as a part of them is too long. Half of the transfers are cancelled.
    @Test func aThousandNamesAreLookedUpWithFewThreads() async throws {
        let label = String(repeating: "x", count: 64)
        let before = threadCount()
        let transfers = try (0..<1000).map { try Self.transfer("http://\(label)-\($0).invalid/x") }
        for (transfer, _) in transfers { try transfer.start() }
        for (transfer, _) in transfers[500...] { transfer.cancel() }
        var most = 0
        for (_, ending) in transfers.prefix(500) {
            while ending.errors.values.isEmpty {
                most = max(most, threadCount() - before)
                await Task.yield()
            }
            #expect(ending.errors.values.first??.code == .unavailable)
        }
        // Other tests run at the same time, with threads of their own.
        #expect(most < 200)
    }

    /// Uploads that are cancelled while their host is looked up: the lookups succeed, and then the requests are freed,
    /// whose callbacks are called once more. The address sanitizer sees a transfer that was freed before its request.
    @Test func uploadsMayEndDuringTheirLookup() async throws {
        let loop = try TransferLoop.shared.get()
        // libcurl knows the address of "localhost" without a lookup.
        let host = ProcessInfo.processInfo.hostName
        // A port for each: libcurl keeps the addresses of a host and port.
        let listeners = try (0..<50).map { _ in try LoopbackListener() }
        defer { for listener in listeners { close(listener.descriptor) } }
        var transfers: [() -> UploadTransfer?] = []
        for listener in listeners {
            let request = BlobUploadRequest(.put, "http://\(host):\(listener.port)/x")
            let attempt = try UploadAttempt(
                MemorySource([1]), matching: nil, as: request, BlobContext(), isRepetition: false
            ) {}
            _ = try attempt.begin()
            transfers.append { [weak transfer = attempt.transfer] in transfer }
            // After the turn that begins the lookup.
            loop.perform { loop in loop.perform { _ in attempt.stop() } }
        }
        let (transfer, ending) = try Self.transfer("http://localhost:1/")
        try transfer.start()
        #expect(await ending.errors.values(count: 1).first??.code == .unavailable)
        while transfers.contains(where: { $0() != nil }) { await Task.yield() }
    }
}
