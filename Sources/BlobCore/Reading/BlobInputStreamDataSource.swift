/// A source of bytes: the protocol that a plugin implements.
///
/// A source is an immutable description that can be shared and opened again. To seek, open a reader at another offset;
/// the means that make this cheap are private to the source.
///
/// ```swift
/// let info = try source.info()
/// print(info.byteCount ?? -1, info.isRandomAccess)
/// let reader = try source.open(at: 512)
/// for try await line in source.lines() { print(line) }
/// ```
///
/// ## The contracts
///
/// The duties of a plugin, by the numbers with which the conformance kit of `BlobStreamsTesting` reports violations.
///
/// - **C1** A read appends at least one byte and returns `bytes`, or appends none and returns `end` or `notYet`; after
///   `notYet` the slot is fired when bytes, the end or an error are available. A spurious call is allowed, a missing
///   call never is.
/// - **C4** The output of a read is not used after the call.
/// - **C5** A reader can be opened at each offset from 0 to the byte count; an offset past it throws
///   ``BlobError/Code/invalidArgument``, from the first read if the length is unknown.
/// - **C6** A source without random access may be slow at an offset, but never wrong.
/// - **C7** Opening with a validator other than the content's throws ``BlobError/Code/changed``, before any byte.
/// - **C8** A known byte count is delivered exactly, or ``BlobError/Code/truncated`` or ``BlobError/Code/changed`` is
///   thrown. The info is final once it is known.
/// - **C9** An empty blob opens and ends like a blob of any other length.
/// - **C10** Readers of one source are independent and, with `concurrentReaders`, may be used at the same time; changes
///   that one user makes to its bytes are never visible to another. A source that is not `repeatable` refuses a second
///   opening with ``BlobError/Code/unsupported``.
/// - **C11** Equal strong validators mean equal bytes.
/// - **C12** Cancelling the context makes a blocked call throw ``BlobError/Code/cancelled`` within one second.
/// - **C13** After the deadline a blocked call throws ``BlobError/Code/timedOut``.
/// - **C14** After `close`, no descriptor, thread or memory is left.
/// - **C15** Every error carries a code, and states whether trying again can help.
/// - **C16** `neverBlocks` is constant, and holds for every call, at every offset, with every validator, over a base
///   whose facts become known late.
///
/// The framework guarantees the rest for every plugin. **C2** The end is sticky. **C3** After a throw, the bytes of
/// that call are discarded, and every later read throws the same error. Closing again does nothing, and a read after
/// closing throws ``BlobError/Code/closed``. Errors carry operation, locator, byte offset and layers.
public protocol BlobInputStreamDataSource: Sendable {
    /// The traits of the source; by default, it can be opened again, also on several threads. Constant; available in
    /// constant time, without I/O, on any thread.
    var traits: BlobTraits { get }

    /// The locator that resolves to this source; nil, the default, for a source that exists in memory only.
    ///
    /// Available in constant time, without I/O, on any thread.
    var locator: BlobLocator? { get }

    /// Returns the facts known about the blob without reading it. May block: a web source, for example, queries its
    /// server.
    ///
    /// Called by the framework; users call ``info(_:)``.
    ///
    /// - Throws: The errors of ``makeBody(_:)``.
    func describe(_ context: BlobContext) throws -> BlobInfo

    /// Returns the bytes in one of the forms of ``BlobBody``.
    ///
    /// Called by the framework; users call ``open(at:matching:context:)``.
    ///
    /// - Throws: The errors of the source. The framework checks offset and validator against the info.
    func makeBody(_ opening: BlobOpening) throws -> BlobBody

    /// Announces the ranges that will be read next, in this order, so that they can be requested together; does nothing
    /// by default.
    ///
    /// A layer announces to its base the ranges that it will read for them. A hint affects only the time that reading
    /// takes: errors are thrown when the ranges are read. Takes no longer than ``info(_:)``.
    func prepare(_ ranges: [Range<Int64>], _ context: BlobContext)
}

extension BlobInputStreamDataSource {
    /// The default traits of an immutable description of bytes: repeatable, with concurrent readers.
    public var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    /// Nil by default: the source exists in memory only.
    public var locator: BlobLocator? { nil }

    /// Does nothing.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {}

    /// Opens a reader of the bytes. Every consumer of a source opens it here.
    ///
    /// A plugin that breaks its contract is reported as ``BlobError/Code/misbehavingPlugin`` instead of delivering
    /// wrong bytes. The reader can be read with or without waiting; every error is a ``BlobError`` with operation,
    /// locator, offset and layers.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset of the first byte to read: 0, the default, to the byte count.
    ///   - validator: The identity that the content must have; nil, the default, accepts any.
    ///   - context: The context of the job, kept for the life of the reader.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an offset past the end (from the first read if the byte count
    ///   is not known), ``BlobError/Code/changed`` if the content has another identity, and the errors of the source.
    public func open(
        at byteOffset: Int64 = 0, matching validator: BlobValidator? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> BlobReader {
        try BlobReader(self, at: byteOffset, matching: validator, context: context)
    }

    /// Opens a reader for a layer over this source, with the same opening as the layer.
    package func open(_ opening: BlobOpening) throws(BlobError) -> BlobReader {
        try BlobReader(self, at: opening.byteOffset, matching: opening.validator, context: opening.context)
    }

    /// Returns the facts known about the blob now. May block.
    ///
    /// - Throws: A ``BlobError`` with operation, locator and layers.
    public func info(_ context: BlobContext = BlobContext()) throws(BlobError) -> BlobInfo {
        do {
            try context.check()
            return try self.describe(context)
        } catch {
            throw BlobError(wrapping: error)
                .passing(layer: self.layerName, operation: "info", locator: self.locator?.description)
        }
    }

    /// The name of this source in the layers of an error: the type without generic arguments, unless it is a
    /// ``NamedLayer``.
    package var layerName: String {
        (self as? any NamedLayer)?.layer ?? String(describing: Self.self).prefix { $0 != "<" }.description
    }
}

/// The constant traits of a data source, known without opening it and unchanged for its lifetime.
public struct BlobTraits: OptionSet, Hashable, Sendable {
    /// The raw value.
    public let rawValue: Int

    /// Creates traits from a raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Neither opening nor reading ever blocks, as for memory, event-driven origins, and compositions of these.
    ///
    /// A source that cannot determine this before it is opened omits the trait; its readers can still declare it with
    /// ``BlobByteStream/neverBlocks``.
    public static let neverBlocks = Self(rawValue: 1 << 0)

    /// The source can be opened again, and delivers the same bytes as long as its validator is the same. Without this
    /// trait, the second opening throws ``BlobError/Code/unsupported``.
    public static let repeatable = Self(rawValue: 1 << 1)

    /// Readers may be open and read on several threads at once. Without this trait, calls of two readers never overlap.
    public static let concurrentReaders = Self(rawValue: 1 << 2)

    /// The bytes are remote: ranges that ``BlobInputStreamDataSource/prepare(_:_:)`` announces cost less to read, and
    /// an announced range that is not read costs a request.
    public static let preparable = Self(rawValue: 1 << 3)
}

/// The offset, the identity and the context with which a reader is opened.
public struct BlobOpening: Sendable {
    /// The offset of the first byte to deliver, at least 0. The framework detects an offset past the end, even if the
    /// length becomes known late.
    public let byteOffset: Int64

    /// The identity that the content must have; nil accepts any. The framework compares it with the identity in the
    /// info.
    public let validator: BlobValidator?

    /// The context of the job, kept for the life of the reader.
    public let context: BlobContext

    /// Creates an opening.
    public init(at byteOffset: Int64 = 0, matching validator: BlobValidator? = nil, context: BlobContext) {
        (self.byteOffset, self.validator, self.context) = (byteOffset, validator, context)
    }
}

/// A source that sets its own name in errors, such as a source that stands for another.
package protocol NamedLayer: BlobInputStreamDataSource {
    /// The name of the layer in errors.
    var layer: String { get }
}
