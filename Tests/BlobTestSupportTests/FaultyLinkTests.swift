import Foundation
import Testing

@testable import BlobTestSupport

@Suite struct FaultyLinkTests {
    private let content = makeContent(50)

    /// The bytes that pass and what follows them, however the bytes are cut into pieces.
    private func passed(_ faults: LinkFaults) throws -> (bytes: [UInt8], phase: FaultyLink.Phase) {
        var all: Set<[UInt8]> = []
        var phase = FaultyLink.Phase.open
        for count in [1, 2, 3, 7, 49, 50] {
            var link = FaultyLink(faults)
            var bytes: [UInt8] = []
            let now = ContinuousClock.now
            for start in stride(from: 0, to: content.count, by: count) {
                content[start..<min(start + count, content.count)].withUnsafeBytes { link.take($0, at: now) }
                while let due = link.due(at: now) {
                    bytes += due
                    link.pass(due.count, at: now)
                }
            }
            link.end()
            phase = link.phase
            all.insert(bytes)
        }
        return (try #require(all.count == 1 ? all.first : nil), phase)
    }

    @Test func aLinkWithoutFaultsPassesAll() throws {
        let (bytes, phase) = try passed(LinkFaults())
        #expect(bytes == content && phase == .ended)
    }

    @Test(arguments: [0, 1, 7, 49, 50]) func aCutIsAfterItsOffset(offset: Int) throws {
        let (bytes, phase) = try passed(LinkFaults { $0.cutOffset = Int64(offset) })
        #expect(bytes == content.prefix(offset).map { $0 } && phase == .cut)
    }

    @Test func aStallIsAfterItsOffset() throws {
        let (bytes, phase) = try passed(LinkFaults { $0.stallOffset = 13 })
        #expect(bytes == Array(content.prefix(13)) && phase == .stalled)
    }

    @Test func bytesAtADistanceAreDoubledOrFlipped() throws {
        var doubled = content
        for offset in [45, 30, 15] { doubled.insert(content[offset], at: offset) }
        #expect(try passed(LinkFaults { $0.duplicateDistance = 15 }).bytes == doubled)
        var flipped = content
        for offset in [20, 40] { flipped[offset] ^= 1 }
        #expect(try passed(LinkFaults { $0.corruptDistance = 20 }).bytes == flipped)
    }

    @Test func bytesAreDueAfterTheLatencyAndOneByOneWhenTheyDrip() {
        let (now, latency) = (ContinuousClock.now, Duration.milliseconds(20))
        var link = FaultyLink(
            LinkFaults {
                $0.latency = latency
                $0.drip = (2, .milliseconds(5))
            })
        content.prefix(3).withUnsafeBytes { link.take($0, at: now) }
        #expect(link.due(at: now + latency - .milliseconds(1)) == nil && link.wakeTime == now + latency)
        #expect(link.due(at: now + latency)?.count == 2)
        link.pass(2, at: now + latency)
        #expect(link.due(at: now + latency) == nil && link.wakeTime == now + latency + .milliseconds(5))
        #expect(link.due(at: now + latency + .milliseconds(5))?.count == 1)
    }

    @Test func aSenderThatIsFasterThanTheLinkIsHeldBack() {
        var link = FaultyLink(LinkFaults { $0.latency = .seconds(1) })
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        var count = 0
        while link.takesBytes, count < 100 {
            piece.withUnsafeBytes { link.take($0, at: .now) }
            count += 1
        }
        #expect(count << 20 == FaultyLink.maximumByteCount)
    }
}
