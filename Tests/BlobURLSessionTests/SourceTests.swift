import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

extension URLSessionTests {
    /// Sources that wait, fail, lie or stall.
    @Suite(.serialized) struct SourceTests {
        // MARK: Waiting

        /// The next part comes only when the server has got the one before: nothing is there to read in between.
        @Test(arguments: modes)
        func anEventDrivenSourceMayPause(mode: BlobStreamMode) async throws {
            let arrivals = BlobObservable(0)
            let server = try serverThatReports(to: arrivals)
            defer { server.stop() }
            let pipe = BlobPipe()
            async let upload = URLSessionUploader(mode: mode).upload(pipe.source, with: put(server.url()))
            for part in parts {
                try await pipe.write(part)
                try await arrivals.reached(part.endIndex)
            }
            pipe.finish()
            #expect(try await upload.1.statusCode == 200)
            let request = try #require(await server.requests.values(count: 1).first)
            #expect(request.brought(bytes))
        }

        @Test(arguments: modes) func aBlockingSourceMayWait(mode: BlobStreamMode) async throws {
            let arrivals = BlobObservable(0)
            let server = try serverThatReports(to: arrivals)
            defer { server.stop() }
            let source = ClosureSource { offset, output, context in
                guard let part = parts.first(where: { $0.indices.contains(Int(offset)) }) else { return }
                try arrivals.wait(context) { $0 >= part.startIndex ? () : nil }
                _ = part[Int(offset)...].withUnsafeBytes { output.append(contentsOf: $0) }
            }
            let (_, response) = try await URLSessionUploader(mode: mode).upload(source, with: put(server.url()))
            #expect(response.statusCode == 200)
            let request = try #require(await server.requests.values(count: 1).first)
            #expect(request.brought(bytes))
        }

        // MARK: Failing

        @Test(arguments: [0, 1, 100_000, 999_999], modes)
        func anErrorInTheMiddleIsTheSources(offset: Int64, mode: BlobStreamMode) async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let failure = BlobError(.corrupted, "The test said so.")
            let source = FaultSource(MemorySource(pattern(1_000_000)), .fail(at: offset, failure))
            let error = await uploadError {
                try await URLSessionUploader(mode: mode).upload(source, with: put(server.url()))
            }
            #expect(error?.code == .corrupted)
            #expect(error?.message == failure.message)
            #expect(error?.byteOffset == offset)
            let request = try #require(await server.requests.values(count: 1).first)
            #expect(!request.isBodyComplete)
            #expect(request.body.count <= offset)
            #expect(pattern(1_000_000).starts(with: request.body))
        }

        @Test(
            arguments: [.truncate(at: 100_000), .truncate(at: 0), .wrongByteCount(by: 1), .wrongByteCount(by: -1)]
                as [FaultSource.Fault], modes)
        func aSourceOfAnotherLengthThanItSaysIsAnError(fault: FaultSource.Fault, mode: BlobStreamMode) async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let source = FaultSource(MemorySource(pattern(200_000)), fault)
            let error = await uploadError {
                try await URLSessionUploader(mode: mode).upload(source, with: put(server.url()))
            }
            #expect(error?.code == .misbehavingPlugin)
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [false])
        }

        @Test func aProducerThatGoesAwayIsAnError() async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            var pipe: BlobPipe? = BlobPipe()
            let source = try #require(pipe?.source)
            try await pipe?.write(pattern(1000))
            pipe = nil
            let error = await uploadError { try await URLSessionUploader().upload(source, with: put(server.url())) }
            #expect(error?.code == .truncated)
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [false])
        }

        // MARK: Stalling

        /// How a stalled upload is ended.
        enum End: CaseIterable { case task, context, deadline, idleLimit }

        @Test(arguments: End.allCases, modes)
        func aStalledSourceDoesNotHoldTheUploadUp(end: End, mode: BlobStreamMode) async throws {
            let arrivals = BlobObservable(0)
            let server = try serverThatReports(to: arrivals)
            defer { server.stop() }
            var context = BlobContext()
            if end == .deadline { context.deadline = .now + .seconds(1) }
            if end == .idleLimit { context.idleLimit = .seconds(1) }
            let source = FaultSource(MemorySource(bytes), .stall(at: 1000))
            let upload = Task { [context] in
                try await URLSessionUploader(mode: mode).upload(source, with: put(server.url()), context: context)
            }
            // With a limit, it may be over before anything was sent.
            let isCancelled = end == .task || end == .context
            if isCancelled { try await arrivals.reached(1000) }
            let clock = ContinuousClock.now
            if end == .task { upload.cancel() }
            if end == .context { context.cancellation.cancel() }
            let error = await uploadError { try await upload.value }
            #expect(ContinuousClock.now - clock < .seconds(60))
            #expect(error?.code == (isCancelled ? .cancelled : .timedOut))
            guard isCancelled else { return }
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [false])
        }

        /// Even a source that does not listen holds up only the session, and only as long as it is deaf.
        @Test(arguments: modes) func aDeafSourceCanBeCancelled(mode: BlobStreamMode) async throws {
            let (isAsked, isReading, gate) = (Latch(), Latch(), Latch())
            let server = try HTTPServer { exchange in
                isAsked.open()
                exchange.readBody()
            }
            defer { server.stop() }
            let source = ClosureSource { offset, output, _ in
                isReading.open()
                gate.wait()
            }
            let upload = Task { try await URLSessionUploader(mode: mode).upload(source, with: put(server.url())) }
            await isAsked.opened()
            await isReading.opened()
            upload.cancel()
            #expect(await uploadError { try await upload.value }?.code == .cancelled)
            gate.open()
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [false])
        }

        @Test func anUploadThatIsCancelledBeforeItBeginsDoesNotBegin() async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let context = BlobContext()
            context.cancellation.cancel()
            let error = await uploadError {
                try await URLSessionUploader().upload(MemorySource(bytes), with: put(server.url()), context: context)
            }
            #expect(error?.code == .cancelled)
            #expect(server.requests.values.isEmpty)
        }

        @Test func theDeadlineIsAlsoThatOfTheAnswer() async throws {
            let gate = Latch()
            let server = try HTTPServer { exchange in
                exchange.readBody()
                gate.wait()
            }
            defer { server.stop() }
            let context = BlobContext(deadline: .now + .seconds(1))
            let error = await uploadError {
                try await URLSessionUploader().upload(MemorySource(bytes), with: put(server.url()), context: context)
            }
            #expect(error?.code == .timedOut)
            gate.open()
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [true])
        }
    }
}

private let bytes = pattern(150_000)

/// The body in parts of very different lengths, with the indices that they have in it.
private let parts: [Data] = {
    let ends = [1, 2, 1000, 70_000, 70_001, 149_999, 150_000]
    return zip([0] + ends, ends).map { bytes[$0..<$1] }
}()

/// A server that tells how many bytes of a body it has got.
private func serverThatReports(to arrivals: BlobObservable<Int>) throws -> HTTPServer {
    try HTTPServer { exchange in
        repeat {
            exchange.readBody(atLeast: exchange.request.body.count + 1)
            arrivals.update { $0 = exchange.request.body.count }
        } while exchange.hasMoreBody
        if exchange.request.isBodyComplete { exchange.respond(200) }
    }
}

extension BlobObservable<Int> {
    func reached(_ count: Int) async throws {
        try await onThread { try self.wait(BlobContext()) { $0 >= count ? () : nil } }
    }
}
