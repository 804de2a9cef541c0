import BlobStreamsStandard
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// A web source with the layers of time limits and retry, through a proxy that injects faults.
@Suite(.timeLimit(.minutes(10))) struct NetworkFaultTests {
    private static let endings = [LinkFaults.Ending.end, .reset]

    /// A server with a proxy before it, whose faults are those on the way to the client.
    private struct Line {
        let server: ObjectServer
        let proxy: FaultProxy

        init(
            _ bytes: [UInt8], tag: String? = "\"one\"", date: String? = nil,
            _ faults: @escaping @Sendable (_ connection: Int, ObjectServer) -> LinkFaults
        ) throws {
            let server = try ObjectServer(bytes)
            (server.object.tag, server.object.date) = (tag, date)
            self.server = server
            self.proxy = try FaultProxy(to: server.port) { .init(toClient: faults($0, server)) }
        }

        func source() throws -> HTTPSource { try HTTPSource("http://127.0.0.1:\(self.proxy.port)/x") }

        func layered(_ choose: (inout BlobLayers) -> Void = { _ in }) throws -> any BlobInputStreamDataSource {
            try self.source().layered {
                $0.retry = .impatient
                $0.idleLimit = .seconds(20)
                choose(&$0)
            }
        }
    }

    private static func cut(_ offset: Int64?, _ ending: LinkFaults.Ending) -> LinkFaults {
        LinkFaults { ($0.cutOffset, $0.ending) = (offset, ending) }
    }

    private static func change(every distance: Int64, _ isDoubled: Bool) -> LinkFaults {
        LinkFaults {
            $0.corruptDistance = isDoubled ? nil : distance
            $0.duplicateDistance = isDoubled ? distance : nil
        }
    }

    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var hasher = CryptoDigest.sha256.makeHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }

    // MARK: Cuts

    /// The first connection is cut at every byte of the head, and of a body of 50 bytes.
    @Test(arguments: endings) func aCutAtAnyByteOfASmallAnswerIsSurvived(ending: LinkFaults.Ending) async throws {
        let bytes = makeContent(50)
        try await onThread {
            var (offset, wasCut) = (Int64(0), true)
            while wasCut {
                let line = try Line(bytes) { [offset] number, _ in Self.cut(number == 0 ? offset : nil, ending) }
                #expect(try readAll(line.layered().open()) == bytes, "\(offset)")
                wasCut = line.proxy.counts.connectionCount > 1
                offset += 1
            }
            #expect(offset > 150)
        }
    }

    /// Past the first window, and in the middle of the stream that follows it.
    @Test(arguments: endings, ["\"one\"", "W/\"one\""])
    func aCutAtEvery16KiBIsSurvived(ending: LinkFaults.Ending, tag: String) async throws {
        let bytes = makeContent(300_000)
        try await onThread {
            for offset in stride(from: Int64(0), to: 300_000, by: 16 << 10) {
                let line = try Line(bytes, tag: tag) { number, _ in Self.cut(number == 0 ? offset : nil, ending) }
                #expect(try readAll(line.layered().open()) == bytes, "\(offset)")
                // Without the layer, the same cut is an error that trying again helps against, behind right bytes.
                let other = try Line(bytes, tag: tag) { _, _ in Self.cut(offset, ending) }
                let found = ReadingOutcome(try other.source().open())
                #expect(found.error?.isTransient == true, "\(offset): \(found.error as Any)")
                #expect(found.bytes == Array(bytes.prefix(found.bytes.count)))
            }
        }
    }

    @Test func anEventTellsOfEachRecovery() async throws {
        let bytes = makeContent(2_000_000)
        let events = Recorder<BlobEvent>()
        try await onThread {
            let line = try Line(bytes) { _, _ in Self.cut(300_000, .reset) }
            let context = BlobContext(eventSink: { events.append($0) })
            #expect(try readAll(line.layered().open(context: context)) == bytes)
        }
        let kinds = events.values.map(\.kind)
        #expect(kinds.contains(.recovered) && kinds.count { $0 == .recovering } >= 6)
    }

    // MARK: Stalls, drips, refusals

    @Test func aStallAtEvery64KiBIsSurvivedAfterTheIdleLimit() async throws {
        let bytes = makeContent(300_000)
        try await onThread {
            for offset in stride(from: Int64(0), to: 300_000, by: 64 << 10) {
                let line = try Line(bytes) { number, _ in
                    LinkFaults { $0.stallOffset = number == 0 ? offset : nil }
                }
                let source = try line.layered { $0.idleLimit = .seconds(1) }
                #expect(try readAll(source.open()) == bytes, "\(offset)")
            }
        }
    }

    @Test func aDripIsNoFault() async throws {
        let bytes = makeContent(20_000)
        try await onThread {
            let line = try Line(bytes) { _, _ in LinkFaults { $0.drip = (500, .milliseconds(2)) } }
            #expect(try readAll(line.layered().open()) == bytes)
            #expect(line.proxy.counts.connectionCount == 1)
        }
    }

    @Test func refusedConnectionsAreTriedAgain() async throws {
        let bytes = makeContent(1000)
        try await onThread {
            let server = try ObjectServer(bytes)
            let proxy = try FaultProxy(to: server.port) { number in
                var faults = FaultProxy.ConnectionFaults()
                faults.isRefused = number < 2
                return faults
            }
            let source = try HTTPSource("http://127.0.0.1:\(proxy.port)/x").layered { $0.retry = .impatient }
            #expect(try readAll(source.open()) == bytes)
        }
    }

    // MARK: Bytes that change on their way

    /// HTTP has no checksum of its own: bits of a body that flip are seen by a digest or by the format of the content.
    @Test(arguments: [false, true]) func onlyADigestSeesBytesOfABodyThatChange(isDoubled: Bool) async throws {
        try await onThread { try Self.expectThatOnlyADigestSeesChanges(isDoubled) }
    }

    private static func expectThatOnlyADigestSeesChanges(_ isDoubled: Bool) throws {
        let bytes = makeContent(200_000)
        let digest = self.digest(bytes)
        let line = try Line(bytes) { _, _ in self.change(every: 90_000, isDoubled) }
        let plain = try readAll(line.layered().open())
        #expect(plain != bytes && plain.count == bytes.count)
        // Another line: the byte too many is still on the first one, where it would be the beginning of an answer.
        let other = try Line(bytes) { _, _ in self.change(every: 90_000, isDoubled) }
        let checked = try other.layered { $0.digest = (CryptoDigest.sha256, digest) }
        #expect(codeThrown { try readAll(checked.open()) } == .checksumMismatch)

        let encoded = try readAll(GzipEncodedSource(MemorySource(bytes)).open())
        let gzip = try Line(encoded) { _, _ in self.change(every: 90_000, isDoubled) }
        let decoded = GzipSource(try gzip.layered())
        let code = codeThrown { try readAll(decoded.open()) }
        #expect(code == .corrupted || code == .checksumMismatch)
    }

    /// Every distance changes other bytes of heads and bodies.
    @Test func bytesThatChangeAnywhereAreNeverAnEndWithADigest() async throws {
        let bytes = makeContent(3000)
        let digest = Self.digest(bytes)
        try await onThread {
            for distance in Array(1..<260) + [300, 500, 1000, 2000, 3000] {
                for isDoubled in [false, true] {
                    let line = try Line(bytes) { _, _ in Self.change(every: Int64(distance), isDoubled) }
                    let source = try line.layered {
                        $0.digest = (CryptoDigest.sha256, digest)
                        $0.idleLimit = .milliseconds(500)
                    }
                    if let found = try? readAll(source.open()) { #expect(found == bytes, "\(distance)") }
                }
            }
        }
    }

    // MARK: Objects that change

    /// What tells one version from another, and the error of a reading that is cut between them; nil is success, of
    /// the old bytes up to the cut and the new ones behind it.
    @Test(
        arguments: [
            ("\"one\"", "\"two\"", nil, nil), ("W/\"one\"", "W/\"two\"", nil, nil),
            (nil, nil, "Mon, 01 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:01 GMT"),
            ("W/\"one\"", "W/\"one\"", nil, nil),
        ] as [(String?, String?, String?, String?)], [false, true])
    func anObjectThatIsReplacedIsAChange(
        versions: (tag: String?, newTag: String?, date: String?, newDate: String?), ignoresConditions: Bool
    ) async throws {
        let (bytes, other) = (makeContent(400_000), Array(makeContent(400_004)[4...]))
        try await onThread {
            for offset in [Int64(66_000), 70_000, 200_000] {
                let line = try Line(bytes, tag: versions.tag, date: versions.date) { number, server in
                    server.object.ignoresConditions = ignoresConditions
                    guard number > 0 else { return Self.cut(offset, .end) }
                    server.object.bytes = other
                    (server.object.tag, server.object.date) = (versions.newTag, versions.newDate)
                    return LinkFaults()
                }
                let found = ReadingOutcome(try line.layered().open())
                #expect(found.code == .changed, "\(offset)")
                #expect(found.bytes == Array(bytes.prefix(found.bytes.count)))
            }
        }
    }

    /// Without any identity, reading is not resumed.
    @Test func anObjectWithoutIdentityIsNotResumed() async throws {
        try await onThread {
            let line = try Line(makeContent(400_000), tag: nil) { number, _ in
                Self.cut(number == 0 ? 200_000 : nil, .end)
            }
            #expect(codeThrown { try readAll(line.layered().open()) } == .truncated)
            #expect(line.proxy.counts.connectionCount == 1)
        }
    }

    // MARK: A long reading

    /// With BLOBSTREAMS_NETWORK_MIB=1024: a gigabyte, with a cut at every 5 MiB.
    @Test func aReadingThatIsCutAgainAndAgainFetchesLittleTwice() async throws {
        let pieceCount = (environmentNumber("BLOBSTREAMS_NETWORK_MIB") ?? 64) / 16
        let piece = makeContent(16 << 20)
        try await onThread {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(pieceCount * piece.count)
            for number in 0..<pieceCount {
                bytes += piece
                bytes[number * piece.count] = UInt8(truncatingIfNeeded: number)
            }
            let line = try Line(bytes) { number, _ in Self.cut(5 << 20, number.isMultiple(of: 2) ? .end : .reset) }
            let reader = try line.layered().open()
            var offset = 0
            let time = try ContinuousClock().measure {
                while case let found = try read(reader, upTo: 1 << 20), !found.isEmpty {
                    #expect(found == Array(bytes[offset..<min(offset + found.count, bytes.count)]))
                    offset += found.count
                }
            }
            #expect(offset == bytes.count)
            let counts = line.proxy.counts
            let surplus = Double(counts.toClientByteCount - Int64(bytes.count)) / Double(bytes.count)
            #expect(counts.connectionCount >= bytes.count / (5 << 20))
            #expect(surplus < 0.02)
            print("\(bytes.count) bytes, \(counts.connectionCount) connections, \(surplus * 100) % surplus, \(time)")
        }
    }
}
