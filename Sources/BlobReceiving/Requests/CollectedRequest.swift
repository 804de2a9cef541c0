public import BlobCore

/// The receiver of a request whose body is collected in memory, and which is answered by a task.
///
/// ```swift
/// func receiver(for head: RequestHead) -> any BodyReceiver {
///     CollectedRequest(upTo: 64 * 1024) { body in RequestAnswer(status: 200, text: try await self.translate(body)) }
/// }
/// ```
public final class CollectedRequest: BodyReceiver {
    private let maximumByteCount: Int
    private let refusalFields: [RequestHead.Field]
    private let respond: @Sendable ([UInt8]) async throws -> RequestAnswer
    private var body: [UInt8] = []
    private var task: Task<Void, Never>?

    /// Creates the receiver of a request.
    ///
    /// - Parameters:
    ///   - maximumByteCount: The maximum length of the body in bytes. A longer one is refused with the status 413.
    ///   - refusalFields: The header fields of that refusal.
    ///   - respond: A closure that returns the response to the complete body. Its task is cancelled if the connection
    ///     is closed. An error refuses the request; see `BlobError.answer`.
    public init(
        upTo maximumByteCount: Int, refusalFields: [RequestHead.Field] = [],
        _ respond: @escaping @Sendable ([UInt8]) async throws -> RequestAnswer
    ) {
        (self.maximumByteCount, self.refusalFields, self.respond) = (maximumByteCount, refusalFields, respond)
    }

    /// Collects the next bytes of the body.
    public func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        guard bytes.count <= self.maximumByteCount - self.body.count else {
            throw RequestRefusal.error(
                413, "The body is longer than \(self.maximumByteCount) bytes.", self.refusalFields)
        }
        self.body.append(contentsOf: bytes)
    }

    /// Starts the task, and passes on its response.
    public func answer(_ done: @escaping @Sendable (Result<RequestAnswer, BlobError>) -> Void) {
        self.task = Task { [body, respond] in
            do {
                done(.success(try await respond(body)))
            } catch {
                done(.failure(BlobError(wrapping: error)))
            }
        }
    }

    /// Starts the task, and waits for its response. Do not call this method in a task, whose thread must not block.
    public func answer() throws(BlobError) -> RequestAnswer {
        let (signal, outcome) = (WaitSignal(), Locked<Result<RequestAnswer, BlobError>?>(nil))
        self.answer { result in
            outcome.withLock { $0 = result }
            signal.signal()
        }
        while true {
            _ = signal.wait(for: nil)
            if let result = outcome.withLock({ $0 }) { return try result.get() }
        }
    }

    /// Cancels the task.
    public func abandon() { self.task?.cancel() }
}
