import BlobTestSupport
import Foundation
import FuzzChecks
import Testing

/// The stored inputs of the fuzz targets, among them those that once broke a rule.
@Suite struct FuzzSeedTests {
    @Test(arguments: FuzzTarget.allCases) func everyStoredInputKeepsTheRules(target: FuzzTarget) throws {
        for (name, bytes) in try seeds(of: target) {
            #expect(throws: Never.self, "\(target.rawValue)/\(name)") { try target.check(bytes) }
        }
    }

    /// The same damage each time: new damage is what `make fuzz` is for.
    @Test(arguments: FuzzTarget.allCases) func damagedInputsKeepTheRules(target: FuzzTarget) throws {
        let seed: UInt64 = 20_261_122
        var random = SplitMix64(seed: seed)
        for (name, bytes) in try seeds(of: target) where !bytes.isEmpty {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            target.repair(&damaged, seed: random.next())
            #expect(throws: Never.self, "\(target.rawValue)/\(name), seed \(seed)") { try target.check(damaged) }
        }
    }

    /// An index that another version made would be passed over, and check nothing.
    @Test func theStoredIndexesAreThoseThatThisVersionMakes() throws {
        let isRecording = ProcessInfo.processInfo.environment["RECORD_FIXTURES"] == "1"
        for (target, name, bytes) in FuzzContent.ownSeeds {
            let url = FuzzContent.seeds.appendingPathComponent("\(target.rawValue)/\(name)")
            if isRecording {
                try Data(bytes).write(to: url)
                Issue.record("Recorded \(name).")
            }
            #expect(try Data(contentsOf: url) == Data(bytes), "\(name)")
        }
    }
}

private func seeds(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
    let folder = FuzzContent.seeds.appendingPathComponent(target.rawValue)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    try #require(!names.isEmpty)
    return try names.map { ($0, Array(try Data(contentsOf: folder.appendingPathComponent($0)))) }
}
