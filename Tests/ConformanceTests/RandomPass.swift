import BlobStreams
import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import CryptoDigest
import Foundation
import Testing

/// One pass over a random source with random layers and faults.
struct RandomPass: Sendable {
    struct Outcome: Sendable {
        var bytes = Data()
        var error: BlobError?
        var readCount = 0
        var recoveryCount = 0
    }

    private enum Origin: CaseIterable {
        case memory, file, dripping, unknownLength
    }

    private enum Consumer: CaseIterable {
        case reader, chunks, stream, asynchronousStream
    }

    private let description: String
    private let content: RandomContent
    private let other: RandomContent
    private let source: any BlobInputStreamDataSource
    private let faults: RandomFaults
    private let byteOffset: Int64
    private let pieceByteCount: Int
    private let consumer: Consumer
    private let context: BlobContext
    private let recoveries: Recorder<Int64>
    /// True when an end would be wrong: the layers expect other content.
    private let mustFail: Bool
    private let hasWrongBits: Bool

    init(_ seed: UInt64, _ contents: RandomContents) throws {
        var random = SplitMix64(seed: seed)
        func flip(_ oddsAgainst: Int = 2) -> Bool { Int.random(in: 0..<oddsAgainst, using: &random) == 0 }
        let number = Int.random(in: 0..<contents.pairs.count, using: &random)
        (self.content, self.other) = contents.pairs[number]
        let form = RandomContent.Form.allCases.randomElement(using: &random) ?? .plain
        var origin = Origin.allCases.randomElement(using: &random) ?? .memory
        // The directory of a zip is found by its length.
        if origin == .unknownLength, form != .plain, form != .gzip { origin = .memory }
        let isChecked = flip()
        let isStrong = flip()
        let isResumedBelow = flip()
        self.byteOffset = flip() ? 0 : Int64.random(in: 0...Int64(self.content.bytes.count), using: &random)
        let recoveries = Recorder<Int64>()
        self.recoveries = recoveries
        self.context = BlobContext(
            deadline: .now + .seconds(60),
            eventSink: { if $0.kind == .recovered { recoveries.append($0.value) } })

        // Faults that nothing can notice are left out: a wrong bit or an early end without a checksum or a length, also
        // of a stored member of which one reader reads only a part, and other content that has the same weak validator
        // and is not read by a single reader.
        let (isResumed, isUnchecked) = (flip(), flip(3))
        let isPartOfStored = form == .storedMember && (self.byteOffset > 0 || isResumed)
        let showsBits = isChecked || form != .plain && !isPartOfStored && !(isResumed && isUnchecked)
        let showsEnd = showsBits || origin == .memory || origin == .file
        let changesToken = isStrong || form != .plain || flip()
        var kinds: [RandomFault] = [.transientError, .transientError, .transientError, .notYet, .shortRead]
        if !isUnchecked { kinds.append(.change) }
        if flip(4) { kinds.append(.stall) }
        if flip(4) { kinds.append(.permanentError) }
        if showsBits, flip(4) { kinds.append(.wrongBit) }
        if showsEnd, flip(4) { kinds.append(.earlyEnd) }
        self.hasWrongBits = kinds.contains(.wrongBit)
        self.faults = RandomFaults(
            kinds, maximumCount: Int.random(in: 1...8, using: &random),
            oddsAgainst: [2, 5, 20].randomElement(using: &random) ?? 5, seed: random.next())

        func make(_ content: RandomContent, _ token: String) throws -> any BlobInputStreamDataSource {
            let packed = content.packed(form)
            let validator = isStrong ? BlobValidator.strong(token) : .weak(token)
            let memory = MemorySource(packed, validator: validator)
            switch origin {
            case .memory: return memory
            case .dripping: return DripSource(memory, pieceByteCount: 3000)
            case .unknownLength:
                return ClosureSource(info: BlobInfo(validator: validator)) { offset, output, _ in
                    guard offset < packed.count else { return }
                    packed.withUnsafeBytes {
                        _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...]))
                    }
                }
            case .file: return FileSource(path: try contents.path(of: number, form, isOriginal: token == "original"))
            }
        }
        var source: any BlobInputStreamDataSource = RandomlyFaultySource(
            original: try make(self.content, "original"),
            other: try make(self.other, changesToken ? "other" : "original"), faults: self.faults)
        var rules = BlobRetry.impatient
        rules.maximumFailureCount = 6
        rules.identity = isUnchecked ? .unchecked : isStrong ? .strong : .compared
        let stallLimit = Duration.milliseconds(20)
        if isResumedBelow {
            source = source.layered {
                $0.retry = rules
                $0.idleLimit = stallLimit
            }
        }
        source = try RandomContent.unpacked(form, source, self.context)
        let limit = flip(3) ? Int64(self.content.bytes.count) + (flip() ? 0 : -1) : nil
        let rightDigest = try self.content.digest()
        let digest = try flip(4) ? self.other.digest() : rightDigest
        let (isAhead, isThrottled) = (flip(), flip(3))
        self.source = source.layered {
            $0.idleLimit = stallLimit
            if isResumed { $0.retry = rules }
            $0.readsAhead = isAhead
            if let limit, limit >= 0 { $0.maximumByteCount = limit }
            if isThrottled { $0.bytesPerSecond = 50 << 20 }
            if isChecked { $0.digest = (CryptoDigest.sha256, digest) }
        }
        let isTooLong = (limit ?? -1) >= 0 && (limit ?? 0) < self.content.bytes.count
        self.mustFail = isChecked && digest != rightDigest || isTooLong
        self.pieceByteCount = [1 << 16, 4096, 700, 63].randomElement(using: &random) ?? 700
        self.consumer = Consumer.allCases.randomElement(using: &random) ?? .reader
        self.description =
            "pass \(seed): \(self.content.bytes.count) bytes, \(form), \(origin), from \(self.byteOffset), \(self.consumer)"
            + ", \(rules.identity), strong \(isStrong), resumed below \(isResumedBelow), above \(isResumed)"
    }

    func run(_ tally: borrowing Locked<Tally>) async throws {
        var outcome = try await self.read()
        outcome.recoveryCount = self.recoveries.values.count
        let faults = self.faults.injected
        if let fault = self.fault(of: outcome) {
            Issue.record("\(fault), after \(outcome.bytes.count) bytes and \(faults): \(self.description)")
        }
        tally.withLock { $0.add(outcome, faults) }
    }

    /// The breach of a promise; nil when there is none.
    private func fault(of outcome: Outcome) -> String? {
        // A pass that began behind the change may have the other content, and then has all of it.
        let truths = [self.content, self.other].map { $0.bytes.dropFirst(Int(self.byteOffset)) }
        if let error = outcome.error {
            if error.code == .internalError || error.message.contains("deadline of the job") { return "\(error)" }
            if error.code == .misbehavingPlugin, !self.faults.injected.contains(.earlyEnd) { return "\(error)" }
            let isPrefix = truths.contains { $0.starts(with: outcome.bytes) }
            return isPrefix || self.hasWrongBits ? nil : "wrong bytes before \(error)"
        }
        if self.mustFail, !self.faults.isChanged { return "an end in spite of the limit or the digest" }
        if outcome.bytes == truths[0] { return nil }
        return self.faults.isChanged && outcome.bytes == truths[1] ? nil : "a false end"
    }

    private func read() async throws -> Outcome {
        guard self.consumer == .chunks else { return try await onThread { self.readBlocking() } }
        var outcome = Outcome()
        do {
            for try await chunk in self.source.chunks(
                ofAtMost: self.pieceByteCount, at: self.byteOffset, context: self.context)
            {
                outcome.bytes += chunk
                outcome.readCount += 1
            }
        } catch {
            outcome.error = BlobError(wrapping: error)
        }
        return outcome
    }

    private func readBlocking() -> Outcome {
        var outcome = Outcome()
        do {
            let next = try self.makeNext()
            while case let piece = try next(), !piece.isEmpty {
                outcome.bytes += piece
                outcome.readCount += 1
            }
        } catch {
            outcome.error = BlobError(wrapping: error)
        }
        return outcome
    }

    /// Returns a function that reads the next bytes, none at the end.
    private func makeNext() throws -> () throws -> [UInt8] {
        guard self.consumer != .reader else {
            let reader = try self.source.open(at: self.byteOffset, context: self.context)
            return { try BlobTestSupport.read(reader, upTo: self.pieceByteCount) }
        }
        let stream = BlobInputStream(
            self.source, mode: self.consumer == .stream ? .synchronous : .asynchronous, context: self.context)
        _ = stream.setProperty(NSNumber(value: self.byteOffset), forKey: .fileCurrentOffsetKey)
        stream.open()
        return {
            var buffer = [UInt8](repeating: 0, count: self.pieceByteCount)
            let count = stream.read(&buffer, maxLength: buffer.count)
            if count < 0 { throw stream.streamError ?? BlobError(.internalError, "There is no error.") }
            if count == 0 { stream.close() }
            return Array(buffer[..<count])
        }
    }
}

extension RandomContent {
    /// The SHA-256 digest of the bytes.
    func digest() throws -> [UInt8] {
        var hasher = CryptoDigest.sha256.makeHasher()
        self.bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }
}

extension RandomContents {
    /// The path of a file with a content in a form; written at the first use.
    func path(of number: Int, _ form: RandomContent.Form, isOriginal: Bool) throws -> String {
        let name = "\(number)-\(form)-\(isOriginal)"
        let content = isOriginal ? self.pairs[number].original : self.pairs[number].other
        return try self.paths.withLock { paths in
            if let path = paths[name] { return path }
            let path = try self.folder.write(Array(content.packed(form)), to: name)
            paths[name] = path
            return path
        }
    }
}
