import BlobStreams
import Foundation
import Testing

@testable import BlobStreamsTesting

private let bytes = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 5) })

private func faulty(_ fault: FaultSource.Fault) -> FaultSource { FaultSource(MemorySource(bytes), fault) }

/// Each fault that breaks a contract is caught by the kit, and turned into an error by the guard.
@Suite struct FaultTests {
    @Test(arguments: [
        (FaultSource.Fault.truncate(at: 1234), 8), (.change(at: 1234), 8), (.wrongByteCount(by: 1), 8),
        (.wrongByteCount(by: -1), 8), (.fail(at: 1234), 8),
    ])
    func theKitNamesTheContractThatAFaultBreaks(_ fault: FaultSource.Fault, contract: Int) async {
        let found = await violations(of: faulty(fault), expecting: bytes)
        #expect(found.contains { $0.contract == contract }, "\(found)")
    }

    @Test func aCallThatDoesNotHearItsCancellationIsNamed() async {
        let kit = Kit({ faulty(.uncancellableStall(at: 100, for: .seconds(4))) }, expecting: Expectation(bytes))
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                kit.checkCancellation()
                continuation.resume()
            }
        }
        #expect(kit.findings.all.map(\.contract) == [12])
    }

    @Test func otherBytesUnderOneStrongValidatorAreNamed() async {
        let memory = MemorySource(bytes)
        let changes = Locked(0)
        // The second opening has other bytes than the first.
        let found = await violations(
            of: FaultSource(
                memory,
                changes.withLock {
                    $0 += 1; return $0
                } == 1 ? .half : .change(at: 0)),
            expecting: bytes)
        #expect(found.contains { $0.contract == 11 }, "\(found)")
    }

    @Test(arguments: [FaultSource.Fault.oneByte, .half])
    func difficultSourcesBreakNothing(_ fault: FaultSource.Fault) async {
        #expect(await violations(of: faulty(fault), expecting: bytes) == [])
    }

    @Test func aSlowSourceBreaksNothing() async {
        let few = bytes.prefix(5)
        let found = await violations(
            of: FaultSource(MemorySource(Data(few)), .delayedBytes(every: .milliseconds(1))), expecting: Data(few))
        #expect(found == [])
    }

    @Test(arguments: [
        (FaultSource.Fault.truncate(at: 1234), BlobError.Code.misbehavingPlugin),
        (.wrongByteCount(by: 1), .misbehavingPlugin), (.wrongByteCount(by: -1), .misbehavingPlugin),
        (.fail(at: 1234), .io),
    ])
    func theGuardTurnsAFaultIntoAnError(_ fault: FaultSource.Fault, code: BlobError.Code) async {
        let error = await #expect(throws: BlobError.self) { try await faulty(fault).data(upTo: 10_000) }
        #expect(error?.code == code)
    }

    @Test func aStallEndsWithTheIdleLimitAndWithCancellation() async {
        let source = faulty(.stall(at: 100))
        let error = await #expect(throws: BlobError.self) {
            try await source.data(upTo: 10_000, context: BlobContext(idleLimit: .milliseconds(20)))
        }
        #expect(error?.code == .timedOut)
        let context = BlobContext(eventSink: nil)
        context.cancellation.cancel()
        let cancelled = await #expect(throws: BlobError.self) {
            try await source.data(upTo: 10_000, context: context)
        }
        #expect(cancelled?.code == .cancelled)
    }

    @Test func aFailureKeepsTheBytesBeforeIt() throws {
        let reader = try faulty(.fail(at: 1234)).open()
        var count = 0
        let error = #expect(throws: BlobError.self) {
            try withUnsafeTemporaryAllocation(byteCount: 1000, alignment: 1) { buffer in
                while case let read = try reader.readBlocking(into: buffer), read > 0 {
                    #expect(Data(buffer.prefix(read)) == bytes[count..<(count + read)])
                    count += read
                }
            }
        }
        #expect(count == 1234)
        #expect(error?.byteOffset == 1234)
    }
}
