import BlobStreams
import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

/// What `URLSession` does with the stream of a body on Linux, without the rest of it.
///
/// Recorded with swift-corelibs-foundation of Swift 6.3.1: the stream is opened once; then `hasBytesAvailable` and
/// `read` take turns until the first is false or the second returns 0, which is the end of the body, or -1, which fails
/// the task. Nothing else is called, not even `close`.
struct BodyConsumer: ~Copyable {
    /// The size of the body buffer of libcurl, less what the framing of a chunk needs.
    static let readByteCount = 65_524

    enum Ending: Equatable {
        case done(isWhole: Bool)
        case failed
    }

    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readByteCount, alignment: 16)

    deinit { self.buffer.deallocate() }

    func consume(_ stream: InputStream, expecting bytes: Data) -> Ending {
        stream.open()
        var rest = bytes
        var isRight = true
        while stream.hasBytesAvailable {
            let memory = self.buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard let count = memory.map({ stream.read($0, maxLength: self.buffer.count) }), count >= 0 else {
                return .failed
            }
            if count == 0 { break }
            isRight = isRight && rest.withUnsafeBytes { $0.begins(with: self.buffer.prefix(count)) }
            rest = rest.dropFirst(count)
        }
        return .done(isWhole: isRight && rest.isEmpty)
    }
}

extension UnsafeRawBufferPointer {
    /// Quick also without optimisation.
    fileprivate func begins(with bytes: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
        guard let left = self.baseAddress, let right = UnsafeMutableRawBufferPointer(rebasing: bytes).baseAddress else {
            return bytes.isEmpty
        }
        return bytes.count <= self.count && memcmp(left, right, bytes.count) == 0
    }
}

/// Uploads by the thousand without a network: a body that is done is whole.
@Suite(.timeLimit(.minutes(10))) struct MiniatureTests {
    @Test func noBodyEndsBeforeItsEnd() async throws {
        let seed = randomSeed()
        print("seed of the rounds: \(seed)")
        let failures = try await withThrowingTaskGroup { group in
            for half in 0..<2 {
                group.addTask {
                    // What fails is told to the test afterwards: another thread cannot.
                    try await onThread {
                        let consumer = BodyConsumer()
                        return (0..<roundCount / 2).flatMap { number in
                            run(RandomRound(seed: seed &+ UInt64(2 * number + half)), consumer)
                        }
                    }
                }
            }
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        #expect(failures.isEmpty, "\(failures.count) rounds: \(failures.prefix(5).joined(separator: "\n"))")
    }
}

/// `BLOBSTREAMS_ROUNDS` makes it more: a hundred thousand take a minute.
private let roundCount = environmentNumber("BLOBSTREAMS_ROUNDS") ?? 20_000

/// Of `BLOBSTREAMS_SEED`, to repeat a run.
func randomSeed() -> UInt64 {
    environmentNumber("BLOBSTREAMS_SEED") ?? .random(in: 0...(.max))
}

/// Tells what should not have happened.
private func run(_ round: RandomRound, _ consumer: borrowing BodyConsumer) -> [String] {
    var failures: [String] = []
    let stream = BlobInputStream(round.source, mode: round.mode, context: round.context)
    round.start()
    let ending = consumer.consume(stream, expecting: round.bytes)
    if !ending.fits(round.expected) { failures.append("\(round.description()): \(ending), \(stream.state.value)") }
    guard round.bytes.count % 4 == 0 else { return failures }
    // As after a request for authentication.
    let second = consumer.consume(stream, expecting: round.bytes)
    let isRead = ending == .done(isWhole: true) && round.isRepeatable
    let expected = isRead ? round.expected : .failure
    if !second.fits(expected) { failures.append("\(round.description()), second: \(second), \(stream.state.value)") }
    return failures
}

extension BodyConsumer.Ending {
    fileprivate func fits(_ expected: RandomRound.Ending) -> Bool {
        switch self {
        case .done(let isWhole): isWhole && expected != .failure
        case .failed: expected != .success
        }
    }
}
