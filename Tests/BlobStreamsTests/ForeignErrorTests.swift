import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// The errors of other libraries, thrown by sources and filters.
@Suite struct ForeignErrorTests {
    private enum CipherError: Error { case authenticationFailure }

    /// Passes its input, and throws at the end.
    private struct Cipher: BlobTransform {
        let error: any Error

        func info(of base: BlobInfo) -> BlobInfo { BlobInfo() }
        func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
            input = input.extracting(droppingFirst: output.append(contentsOf: input))
            guard isLast, input.isEmpty else { return .needsInput }
            throw self.error
        }
    }

    private struct CipherSource: BlobLayer {
        let underlying: any BlobInputStreamDataSource = MemorySource([1, 2, 3])
        let error: any Error

        func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
        func makeBody(_ opening: BlobOpening) throws -> BlobBody {
            .transform(try self.underlying.open(context: opening.context), Cipher(error: self.error), startingAt: 0)
        }
    }

    private func failing(with error: any Error) -> some BlobInputStreamDataSource {
        ClosureSource { _, _, _ in throw error }
    }

    @Test func aForeignErrorOfATransformIsCorruptionAndOfASourceIsNot() async throws {
        let filter = await errorThrown {
            try await CipherSource(error: CipherError.authenticationFailure).data(upTo: 10)
        }
        #expect(filter?.code == .corrupted && filter?.cause is CipherError)
        #expect(filter?.message.hasPrefix("CipherError.authenticationFailure") == true)
        let source = await errorThrown {
            try await self.failing(with: CipherError.authenticationFailure).data(upTo: 10)
        }
        #expect(source?.code == .io && source?.cause is CipherError)
    }

    /// The bytes before the error are delivered.
    @Test func theBytesBeforeACorruptionAreDelivered() async throws {
        let outcome = try await readingOutcome(CipherSource(error: CipherError.authenticationFailure))
        #expect(outcome.bytes == [1, 2, 3] && outcome.code == .corrupted)
    }

    /// An error with a code of its own keeps it, also in a transform.
    @Test func anErrorWithACodeKeepsIt() async throws {
        for (error, code) in [
            (CancellationError() as any Error, BlobError.Code.cancelled), (POSIXError(.EIO), .io),
            (CocoaError(.fileReadNoPermission), .permissionDenied), (CocoaError(.userCancelled), .cancelled),
            (NSError(domain: "NSURLErrorDomain", code: -999), .cancelled),
            (BlobError(.encrypted, "Locked."), .encrypted),
        ] {
            #expect(await asyncCodeThrown { try await CipherSource(error: error).data(upTo: 10) } == code)
            #expect(await asyncCodeThrown { try await self.failing(with: error).data(upTo: 10) } == code)
        }
    }

    /// In each face: the cause is the error that the source threw.
    @Test func aCancellationErrorArrivesAsCancelled() async throws {
        for source: any BlobInputStreamDataSource in [
            self.failing(with: CancellationError()), CipherSource(error: CancellationError()),
        ] {
            let whole = await errorThrown { try await source.data(upTo: 10) }
            #expect(whole?.code == .cancelled && whole?.cause is CancellationError)
            let lines = await errorThrown { for try await _ in source.lines() {} }
            #expect(lines?.code == .cancelled && lines?.cause is CancellationError)
            let stream = BlobInputStream(source)
            stream.open()
            var buffer = [UInt8](repeating: 0, count: 64)
            while stream.read(&buffer, maxLength: 64) > 0 {}
            let error = stream.streamError as? BlobError
            #expect(error?.code == .cancelled && error?.cause is CancellationError)
        }
        let pushed = AsyncSequenceSource(
            chunks: { AsyncThrowingStream<Data, any Error> { $0.finish(throwing: CancellationError()) } })
        let error = await errorThrown { try await pushed.data(upTo: 10) }
        #expect(error?.code == .cancelled && error?.cause is CancellationError)
    }

    /// What `catch is CancellationError` is in this framework.
    @Test func aCancelledTaskIsCancelled() async throws {
        let source = PlayedStream()
        source.push([1])
        let task = Task {
            do {
                _ = try await source.data(upTo: 10)
                return false
            } catch let error as BlobError where error.code == .cancelled {
                return true
            }
        }
        await source.reads.values(count: 2)
        task.cancel()
        #expect(try await task.value)
    }
}
