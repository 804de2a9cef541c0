public import BlobCore

/// The parts of a `multipart/form-data` body, in their order, parsed while the body arrives.
///
/// Holds no more than the last chunk of the body. The bytes of a part must be read before the next part is requested,
/// which discards what is left of them. The end means that the final delimiter has arrived.
///
/// ```swift
/// for try await part in MultipartParts(of: request.body, boundary: boundary) {
///     for try await bytes in part.bytes { file.write(bytes) }
/// }
/// ```
public struct MultipartParts: AsyncSequence, Sendable {
    private let state: State

    /// Creates the parts of a body, which is iterated over once.
    ///
    /// - Parameters:
    ///   - chunks: The body in chunks of any size.
    ///   - boundary: The boundary in the `Content-Type`; see ``MultipartHeader/boundary(of:)``.
    ///   - limits: The limits of the form; the length of the body is not limited.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an invalid boundary.
    public init<Chunks: AsyncSequence>(
        of chunks: Chunks, boundary: String, limits: MultipartParser.Limits = .init()
    ) throws(BlobError) where Chunks.Element: Collection<UInt8> {
        let parser = try MultipartParser(boundary: boundary, limits: limits)
        var iterator = chunks.makeAsyncIterator()
        self.state = State(parser) { parser, handle in
            guard let chunk = try await iterator.next() else { return false }
            let isContiguous: Void? = try chunk.withContiguousStorageIfAvailable { bytes in
                try parser.parse(UnsafeRawBufferPointer(bytes), handle)
            }
            if isContiguous == nil { try Array(chunk).withUnsafeBytes { try parser.parse($0, handle) } }
            return true
        }
    }

    /// Returns the iterator, which continues at the first part that was not yet requested.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(state: self.state) }

    /// Iterates over the parts of a form.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let state: State

        /// Returns the next part; nil after the last one.
        ///
        /// - Throws: ``BlobError/Code/corrupted``, ``BlobError/Code/limitExceeded`` and
        ///   ``BlobError/Code/truncated`` for the form, with the offset in the body, and the errors of the
        ///   body.
        public func next() async throws -> MultipartPart? { try await self.state.nextPart() }
    }

    /// The parsed events that were not yet delivered. Used by one task at a time, as any iterator.
    fileprivate final class State: @unchecked Sendable {  // Safe: `isBusy` admits one call at a time.
        typealias Fill = (inout MultipartParser, (MultipartParser.Event) throws -> Void) async throws -> Bool

        private enum Step {
            case begin(MultipartHeader)
            case bytes([UInt8])
            case end
        }

        private var parser: MultipartParser
        private let fill: Fill
        private var steps = Fifo<Step>()
        private var isInPart = false
        private let isBusy = Locked(false)
        private var failure: (any Error)?
        private var isFinished = false

        init(_ parser: MultipartParser, _ fill: @escaping Fill) { (self.parser, self.fill) = (parser, fill) }

        func nextPart() async throws -> MultipartPart? {
            while let step = try await self.nextStep() {
                if case .begin(let header) = step { return MultipartPart(header: header, bytes: .init(state: self)) }
            }
            return nil
        }

        func nextBytes() async throws -> [UInt8]? {
            guard self.isInPart, case .bytes(let bytes) = try await self.nextStep() else { return nil }
            return bytes
        }

        private func nextStep() async throws -> Step? {
            guard !self.isBusy.exchange(true) else {
                throw BlobError(.invalidArgument, "The parts of a form are read one after the other.")
            }
            defer { _ = self.isBusy.exchange(false) }
            if let failure { throw failure }
            do {
                while true {
                    if let (step) = self.steps.popFirst() {
                        if case .end = step { self.isInPart = false } else { self.isInPart = true }
                        return step
                    }
                    guard !self.isFinished else { return nil }
                    var steps: [Step] = []
                    let goesOn = try await self.fill(&self.parser) { event in
                        switch event {
                        case .begin(let header): steps.append(.begin(header))
                        case .bytes(let bytes): steps.append(.bytes(Array(bytes)))
                        case .end: steps.append(.end)
                        }
                    }
                    for step in steps { self.steps.append(step) }
                    guard !goesOn else { continue }
                    try self.parser.finish()
                    self.isFinished = true
                }
            } catch {
                self.failure = error
                throw error
            }
        }
    }
}

/// A part of a form whose content is arriving.
public struct MultipartPart: Sendable {
    /// The header of the part.
    public let header: MultipartHeader

    /// The content; can be read once, before the next part is requested.
    public let bytes: Bytes

    /// The name of the field, with invalid UTF-8 repaired.
    public var name: String { String(decoding: self.header.name, as: UTF8.self) }

    /// The file name, with invalid UTF-8 repaired; nil for a field that is not a file. It is not a path to write to.
    public var filename: String? { self.header.filename.map { String(decoding: $0, as: UTF8.self) } }

    /// The content as a source that can be read once, from its start.
    public var source: any BlobInputStreamDataSource {
        let info = BlobInfo(mediaType: self.header.mediaType, name: self.filename ?? self.name)
        return AsyncSequenceSource(info: info, chunks: { [bytes] in bytes })
    }

    /// The chunks of the content of a part, each with at least one byte.
    public struct Bytes: AsyncSequence, AsyncIteratorProtocol, Sendable {
        fileprivate let state: MultipartParts.State

        /// Returns the iterator, which continues at the first byte that was not yet read.
        public func makeAsyncIterator() -> Self { self }

        /// Returns the next bytes; nil at the end of the part.
        ///
        /// - Throws: The errors of ``MultipartParts/AsyncIterator/next()``.
        public func next() async throws -> [UInt8]? { try await self.state.nextBytes() }
    }
}
