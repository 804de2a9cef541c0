import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Formats whose readers are not to be trusted.
@Suite(.serialized) struct ForeignFormatTests {
    @Test func theyAreKnownWithTheOthers() throws {
        let schemes = BlobProvider.archives.flatMap(\.schemes)
        #expect(Set(schemes).isSuperset(of: ArchiveFormat.helperFormats.map(\.rawValue)))
        let more = BlobProvider.archives(allowing: [.iso, .tar]).flatMap(\.schemes)
        #expect(more == schemes.filter { $0 != "iso" } + ["iso"])
    }

    @Test(arguments: [("a.iso", ArchiveFormat.iso), ("a.xar", .xar)], [ArchiveIsolation.helper, .inProcess])
    func theyAreReadLikeOthers(file: (String, ArchiveFormat), isolation: ArchiveIsolation) async throws {
        guard let bytes = try await Made.optional(file.0) else { return }
        let archive = ArchiveContainer(MemorySource(bytes), format: file.1, isolation: isolation)
        #expect(try await archive.data("stream") == Made.archive("stream"))
        #expect(try await archive.members().contains { $0.name == Array("stream".utf8) })
        #expect(try await archive.code("nope") == .notFound)
        let source = try archive.member(.name("stream"), context: BlobContext())
        expectNone(await violations(of: source, expecting: try await Made.archive("stream")))
    }

    @Test func encryptedMembersOfRARAreRefusedWithAPasswordToo() async throws {
        let bytes = try await Made.archive("encrypted.rar")
        try await onThread {
            for base in [MemorySource(bytes) as any BlobInputStreamDataSource, SequentialSource(bytes)] {
                let archive = ArchiveContainer(base, format: .rar, isolation: .helper)
                for context in [BlobContext(), BlobContext(password: "secret")] {
                    let error = archive.failure(.name("x"), context)
                    #expect(error?.code == .encrypted)
                    #expect(error?.message.contains("not supported") == true)
                }
                #expect(archive.listing().members.map(\.isEncrypted) == [false, true, false])
                let plain = try ["m", "y"].map {
                    try archive.member(.name($0), context: BlobContext()).data(upTo: 9)
                }
                #expect(plain == [Data("text".utf8), Data("text".utf8)])
            }
        }
    }

    /// libarchive compares no checksum of stored members of RAR 5.
    @Test(arguments: [ArchiveIsolation.helper, .inProcess])
    func aFlippedBitInAStoredMemberOfRARIsFound(_ isolation: ArchiveIsolation) async throws {
        let bytes = try await Made.archive("stored.rar")
        let start = try #require(bytes.range(of: Data("mtext".utf8))).lowerBound + 1
        try await onThread { () throws in
            for bit in 0..<32 {
                let damaged = bytes.flipping(1 << (bit % 8), at: start + bit / 8)
                let archive = ArchiveContainer(MemorySource(damaged), format: .rar, isolation: isolation)
                #expect(archive.failure(.name("m"), BlobContext())?.code == .checksumMismatch)
            }
            let archive = ArchiveContainer(MemorySource(bytes), format: .rar, isolation: isolation)
            #expect(try archive.member(.name("m"), context: BlobContext()).data(upTo: 9) == Data("text".utf8))
        }
    }

    @Test func damagedHeadersOfRARGiveNoOtherMembers() async throws {
        let bytes = try await Made.archive("encrypted.rar")
        try await onThread {
            for place in bytes.indices {
                for damaged in [
                    Data(bytes.prefix(place)), bytes.flipping(1 << (place % 8), at: place),
                    bytes.flipping(0xFF, at: place),
                ] {
                    guard var headers = try? RAR5Headers(MemorySource(damaged), BlobContext()) else { continue }
                    var count = 0
                    while try headers.next() != nil { count += 1 }
                    // Headers have checksums, which libarchive compares.
                    #expect(count <= damaged.count / 4)
                }
            }
        }
    }

    /// In a process of its own: meanwhile nobody else could read such a format.
    @Test func aCallThatDoesNotReturnIsLeftBehindAndCounted() async {
        await #expect(processExitsWith: .success) {
            // Held up until the end of the test, as a library that loops is for ever.
            let gates = (0..<AbandonableThread.maximumAbandonedCount).map { _ in WaitSignal() }
            let threads = try gates.map { _ in try AbandonableThread() }
            for (thread, gate) in zip(threads, gates) {
                let context = BlobContext(deadline: .now + .milliseconds(20))
                try #require(codeThrown { try thread.run(context) { _ = gate.wait(for: nil) } } == .timedOut)
                try #require(codeThrown { try thread.run(BlobContext()) {} } == .closed)
            }
            try #require(codeThrown { try AbandonableThread() } == .limitExceeded)
            for gate in gates { gate.signal() }
            // They end when their calls do.
            let end = ContinuousClock.now + .seconds(30)
            while codeThrown(by: { try AbandonableThread() }) != nil, ContinuousClock.now < end { sched_yield() }
            let thread = try AbandonableThread()
            try #require(try thread.run(BlobContext()) { 7 } == 7)
        }
    }
}
