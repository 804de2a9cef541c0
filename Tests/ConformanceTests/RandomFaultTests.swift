import BlobStreams
import BlobStreamsStandard
import BlobTestSupport
import CryptoDigest
import Foundation
import Testing

/// No false end and no wrong byte, whatever happens to a source: random layers over random sources with random faults,
/// compared with the truth.
@Suite(.timeLimit(.minutes(60))) struct RandomFaultTests {
    /// The number of passes in which a fault came.
    private static let passCount = environmentNumber("BLOBSTREAMS_ROUNDS") ?? 2000
    private static let taskCount = 8

    @Test func everyPassIsRightOrAnError() async throws {
        let seed: UInt64 = environmentNumber("BLOBSTREAMS_SEED") ?? .random(in: 0...(.max))
        let contents = try RandomContents()
        let (next, tally) = (Locked(seed), Locked(Tally()))
        try await withThrowingTaskGroup { group in
            for _ in 0..<Self.taskCount {
                group.addTask {
                    while tally.withLock({ $0.faultyCount }) < Self.passCount {
                        let seed = next.withLock { seed in
                            seed &+= 1
                            return seed
                        }
                        try await RandomPass(seed, contents).run(tally)
                    }
                }
            }
            try await group.waitForAll()
        }
        let found = tally.withLock { $0 }
        print("seed \(seed): \(found)")
        // Neither all nor none come to their end.
        #expect(found.wholeCount * 10 > found.passCount && found.wholeCount * 10 < found.passCount * 9)
        #expect(found.counts.count >= 6 && found.faults.count == RandomFault.allCases.count)
    }
}

/// The contents of all passes, each with another one of its length.
struct RandomContents: Sendable {
    let pairs: [(original: RandomContent, other: RandomContent)]
    let folder: TemporaryFolder
    /// The paths of the files that were written, by their names.
    let paths = Locked<[String: String]>([:])

    init() throws {
        self.folder = try TemporaryFolder()
        self.pairs = try [0, 1, 100, 4095, 4097, 9000, 30_000, 70_000, 300_000].map { byteCount in
            let bytes = Data(makeContent(byteCount))
            return (try RandomContent(bytes), try RandomContent(Data(bytes.map { ~$0 })))
        }
    }
}

/// The outcomes of the passes.
struct Tally: CustomStringConvertible {
    private(set) var passCount = 0
    private(set) var faultyCount = 0
    private(set) var wholeCount = 0
    private(set) var recoveryCount = 0
    private(set) var readCount = 0
    private(set) var byteCount = 0
    private(set) var counts: [String: Int] = [:]
    private(set) var faults: [RandomFault: Int] = [:]

    mutating func add(_ pass: RandomPass.Outcome, _ injected: [RandomFault]) {
        self.passCount += 1
        if !injected.isEmpty { self.faultyCount += 1 }
        if pass.error == nil { self.wholeCount += 1 }
        self.recoveryCount += pass.recoveryCount
        self.readCount += pass.readCount
        self.byteCount += pass.bytes.count
        if let error = pass.error { self.counts[error.code.description, default: 0] += 1 }
        for fault in injected { self.faults[fault, default: 0] += 1 }
    }

    var description: String {
        let counts = self.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        let faults = self.faults.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", ")
        return """
            \(self.passCount) passes, \(self.faultyCount) with faults (\(faults)), \(self.readCount) reads, \
            \(self.byteCount) bytes, \(self.recoveryCount) recoveries, \(self.wholeCount) whole, errors: \(counts)
            """
    }
}
