#if AsyncHTTPClient
    internal import AsyncHTTPClient
    internal import BlobCore
    internal import NIOCore
    internal import NIOHTTP1

    /// An upload by async-http-client, with the redirections that it follows.
    struct SourceUpload: Sendable {
        /// The statuses of transient refusals (RFC 9110, sections 15.5.9 and 15.6.4; RFC 6585, section 4; RFC 8470,
        /// section 5.2).
        private static let transientStatuses: Set<UInt> = [408, 425, 429, 503]

        private static let excerptLength = 200

        let client: HTTPClient
        let source: any BlobInputStreamDataSource
        let followsOtherOrigins: Bool
        let context: BlobContext

        /// Makes the request and those of its redirections, in a task that ends with the task of the caller, with the
        /// cancellation of the context, and at its deadline.
        func runEndingInTime(
            _ request: HTTPClientRequest, _ maximumRedirectionCount: Int
        ) async throws(BlobError) -> HTTPClientResponse {
            let task = Task { () -> Result<HTTPClientResponse, BlobError> in
                do throws(BlobError) {
                    return .success(try await self.run(request, maximumRedirectionCount))
                } catch {
                    return .failure(error)
                }
            }
            let cancellation = self.context.cancellation.onCancel { task.cancel() }
            let deadline = self.context.deadline.map { instant in
                self.context.wake(after: ContinuousClock.now.duration(to: instant), BlobWaker { task.cancel() })
            }
            defer {
                cancellation.cancel()
                deadline?.cancel()
            }
            let result = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            // The deadline ends the task in the way of a cancellation.
            if case .failure(let error) = result, error.code == .cancelled { try self.context.check() }
            return try result.get()
        }

        private func run(
            _ request: HTTPClientRequest, _ maximumRedirectionCount: Int
        ) async throws(BlobError) -> HTTPClientResponse {
            var (request, rest, validator) = (request, maximumRedirectionCount, BlobValidator?.none)
            while true {
                let reading = try await BodyReading(self.source, matching: validator, self.context)
                // The content of the first request is that of all.
                validator = validator ?? reading.info.validator
                defer { reading.stop() }
                let response = try await self.execute(request, reading)
                if (200..<300).contains(response.status.code) { return response }
                guard rest > 0, self.source.traits.contains(.repeatable),
                    let next = request.redirected(by: response, toOtherOrigins: self.followsOtherOrigins)
                else { throw await self.refusal(response, of: request) }
                (request, rest) = (next, rest - 1)
            }
        }

        /// Makes one request. Of a success, the source has ended; anything else may have come before.
        private func execute(
            _ request: HTTPClientRequest, _ reading: BodyReading
        ) async throws(BlobError) -> HTTPClientResponse {
            var request = request
            request.body = reading.body
            if let type = reading.info.mediaType, !request.headers.contains(name: "Content-Type") {
                request.headers.add(name: "Content-Type", value: type)
            }
            do {
                let response = try await self.client.execute(request, deadline: .distantFuture)
                if (200..<300).contains(response.status.code) { try await reading.waitForEnd() }
                return response
            } catch {
                if let failure = reading.failure, failure.operation != "write" { throw failure }
                throw BlobError(error, of: request)
            }
        }

        private func refusal(_ response: HTTPClientResponse, of request: HTTPClientRequest) async -> BlobError {
            let refusal = await HTTPClientRefusal(response)
            var message = "The server answered \(response.status.code) \(response.status.reasonPhrase)"
            if (300..<400).contains(response.status.code), let location = response.headers.first(name: "Location") {
                message += ", pointing to \(HTTPClientRequest(url: location).printableURL), which is not followed"
            }
            let text = String(buffer: refusal.body).split(whereSeparator: \.isWhitespace).joined(separator: " ")
            if !text.isEmpty {
                message += ": " + text.prefix(Self.excerptLength) + (text.count > Self.excerptLength ? "..." : "")
            }
            return BlobError(
                .refused, message, operation: "write", locator: request.printableURL,
                isTransient: Self.transientStatuses.contains(response.status.code), cause: refusal)
        }
    }
#endif
