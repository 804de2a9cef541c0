import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import ArchiveSource

/// Archives that a helper process reads, when that process fails.
@Suite(.serialized) struct HelperTests {
    static let path = productsFolder.appendingPathComponent(HelperLocation.archives.program).path

    static func archive(fault: String) -> ArchiveContainer {
        ArchiveContainer(
            MemorySource(WARCTests.archive), format: .warc, isolation: .helper(at: Self.path, fault: fault))
    }

    private func error(_ isolation: ArchiveIsolation) async throws -> BlobError? {
        let archive = ArchiveContainer(MemorySource(WARCTests.archive), format: .warc, isolation: isolation)
        return await errorThrown {
            try await onThread {
                try archive.member(.name("page"), context: BlobContext()).data(upTo: 1 << 22)
            }
        }
    }

    @Test(arguments: [
        ("crash:next", "signal 11"), ("crash:block", "signal 11"), ("exit:block", "status 3"),
        ("loop:block", "computed for 3 seconds"), ("loop:next", "computed for 3 seconds"),
    ])
    func aHelperThatCrashesOrLoopsIsACorruptedArchive(fault: String, reason: String) async throws {
        let error = try await self.error(.helper(at: Self.path, fault: fault))
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("warc") == true)
        #expect(error?.byteOffset != nil)
        if fault.hasSuffix(":block") { #expect(error?.message.contains("its member 1, page") == true) }
    }

    /// More members than a helper passes at once, whose headers it reads several at a time.
    @Test func membersWhoseBytesAreNotReadArePassedTogether() async throws {
        let count = 2 * ExchangedEntry.maximumCount + 452
        let start = WARCTests.record("warcinfo", "", Data("software: none\r\n".utf8))
        let archive = (0..<count).reduce(into: start) { archive, number in
            archive += WARCTests.record("resource", "http://example.org/\(number)", Data("content \(number)".utf8))
        }
        // The last one is cut off within its content.
        for bytes in [archive, archive.dropLast(10)] {
            try await onThread {
                let walker = try HelperWalker(
                    .warc, over: MemorySource(Data(bytes)), BlobContext(), Self.path, needsConfinement: false)
                for wanted in [0, 1, 1500, count - 2] {
                    walker.willRead(from: wanted)
                    while walker.index < wanted { try #require(try walker.advance()) }
                    #expect(walker.entry.member.name == Array(String(wanted).utf8))
                    #expect(try Array(walker.nextBlock().bytes) == Array("content \(wanted)".utf8))
                }
                walker.willRead(from: .max)
                #expect(try walker.advance())
                guard bytes.count < archive.count else { return #expect(try !walker.advance()) }
                #expect(throws: BlobError.self) { try walker.advance() }
            }
        }
    }

    @Test func bytesThatWereNotAnnouncedAreAnError() async throws {
        let error = await errorThrown {
            try await onThread {
                let walker = try HelperWalker(
                    .warc, over: MemorySource(WARCTests.archive), BlobContext(), Self.path, needsConfinement: false)
                walker.willRead(from: .max)
                _ = try walker.advance()
                _ = try walker.nextBlock()
            }
        }
        #expect(error?.code == .internalError)
    }

    @Test func aHelperWithoutMemoryIsALimit() async throws {
        #expect(try await self.error(.helper(at: Self.path, fault: "memory:block"))?.code == .limitExceeded)
    }

    /// Signal 10 or 30 is what the helper raises when the system refuses; 31 or 12 is the system's own.
    @Test(
        .enabled(if: isLinux),
        arguments: [
            ("open", "signal 10"), ("code", "signal 10"), ("socket", "signal 31"), ("execute", "signal 31"),
        ])
    func aHelperHasNeitherFilesNorNetworkNorOtherPrograms(fault: String, reason: String) async throws {
        let error = try await self.error(.helper(at: Self.path, fault: "\(fault):block"))
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func aHelperThatDoesNotStartIsUnavailable() async throws {
        #expect(try await self.error(.helper(at: Self.path, fault: "crash:open"))?.code == .unavailable)
        #expect(try await self.error(.helper(at: "/bin/false"))?.code == .unavailable)
        #expect(try await self.error(.helper(at: "/bin/cat"))?.code == .unavailable)
    }

    @Test func withoutAHelperTheFormatIsUnsupported() async throws {
        let error = try await self.error(.helper(at: "/nowhere/helper"))
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("/nowhere/helper") == true)
        #expect(error?.message.contains("the format warc are read by a helper process") == true)
        #expect(error?.remedy == .formatInProcess("warc"))
    }

    @Test func withoutAHelperA7zWithRareCodersIsListedAndNotRead() async throws {
        let bytes = try Fixture.bytes("aes-ppmd.7z")
        let context = BlobContext(password: "secret")
        let content: @Sendable (ArchiveIsolation) throws -> Data = { isolation in
            let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip, isolation: isolation)
            #expect(archive.listing(context).members.map(\.printableName) == ["code"])
            return try archive.member(.index(0), context: context).data(upTo: 1 << 20, context: context)
        }
        let error = await errorThrown { try await onThread { try content(.helper(at: "/nowhere/helper")) } }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("are read by a helper process") == true)
        #expect(error?.remedy == .formatInProcess("sevenzip"))
        let expected = try EncryptedSevenZipTests.content("code")
        for isolation in [ArchiveIsolation.inProcess, .helperIfFound, .helper] {
            let found = try await onThread { try content(isolation) }
            #expect(found == expected)
        }
    }

    @Test(arguments: ["sleep:block", "loop:block"])
    func aCancelledJobEndsTheHelper(fault: String) async throws {
        let context = BlobContext()
        let isOpen = Latch()
        async let code = onThread {
            let reader = try Self.archive(fault: fault).member(.name("page"), context: context).open(context: context)
            isOpen.open()
            return codeThrown { try read(reader, upTo: 1) }
        }
        await isOpen.opened()
        context.cancellation.cancel()
        #expect(try await code == .cancelled)
    }

    @Test func aLateJobEndsTheHelper() async throws {
        let code = try await onThread {
            let source = try Self.archive(fault: "sleep:block").member(.name("page"), context: BlobContext())
            return codeThrown { try source.data(upTo: 1 << 22, context: BlobContext(idleLimit: .milliseconds(50))) }
        }
        #expect(code == .timedOut)
    }

    @Test func aSourceThatDoesNotAnswerCanBeCancelled() async throws {
        let context = BlobContext()
        let pipe = BlobPipe(capacity: 1000, info: BlobInfo())
        async let code = onThread {
            let archive = ArchiveContainer(pipe.source, format: .warc)
            return codeThrown {
                try archive.member(.index(0), context: context).data(upTo: 1 << 22, context: context)
            }
        }
        // Returns once a reader took bytes, which only the helper wants.
        try await onThread { try pipe.write(WARCTests.archive.prefix(5000)) }
        context.cancellation.cancel()
        #expect(try await code == .cancelled)
    }

    @Test func twoArchivesAreReadAtOnce() async throws {
        let pages = try await onThreads(2) { _ in
            let archive = ArchiveContainer(MemorySource(WARCTests.archive), format: .warc)
            return try archive.member(.name("page"), context: BlobContext()).data(upTo: 1 << 22)
        }
        #expect(pages == [WARCTests.page, WARCTests.page])
    }

    /// Counts what a process of its own has.
    @Test(.enabled(if: isLinux)) func openingsLeaveNothing() async {
        await #expect(processExitsWith: .success) {
            let archive = ArchiveContainer(MemorySource(WARCTests.archive), format: .warc)
            let source = try archive.member(.index(0), context: BlobContext())
            _ = try source.data(upTo: 1 << 22)
            let before = (descriptorCount(), threadCount())
            for _ in 0..<200 {
                let reader = try source.open()
                reader.close()
            }
            try #require(descriptorCount() == before.0)
            try #require(threadCount() <= before.1)
            try #require(try children().isEmpty)
        }
    }

    @Test(.enabled(if: isLinux)) func aHelperHasItsOwnDescriptorsAndCanBeKilled() async {
        await #expect(processExitsWith: .success) {
            // As a descriptor of another library may be: without the mark that closes it in programs that are started.
            let other = dup(1)
            let archive = ArchiveContainer(MemorySource(WARCTests.archive), format: .warc)
            let reader = try archive.member(.name("page"), context: BlobContext()).open()
            let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
            try #require(try reader.readBlocking(into: byte) == 1)
            let children = try ArchiveSourceTests.children()
            try #require(children.count == 1)
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(children[0])/fd")
            try #require(Set(descriptors) == ["0", "1", "2", "3", "4"])
            kill(children[0], SIGKILL)
            let page = UnsafeMutableRawBufferPointer.allocate(byteCount: WARCTests.page.count, alignment: 1)
            let error = try #require(
                throws: BlobError.self, performing: { while try reader.readBlocking(into: page) > 0 {} })
            try #require(error.code == .corrupted)
            try #require(error.message.contains("signal 9"))
            try #require(try ArchiveSourceTests.children().isEmpty)
            close(other)
        }
    }
}

/// The children of this process, zombies too.
private func children() throws -> [pid_t] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").flatMap { task in
        let path = "/proc/self/task/\(task)/children"
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: " ").compactMap { pid_t($0) }
    }
}
