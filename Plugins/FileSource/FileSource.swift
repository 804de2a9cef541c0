public import BlobCore
public import BlobPlatform

/// The bytes of a file as of the time it is opened.
///
/// ```swift
/// let log = FileSource(path: "/var/log/syslog")
/// for try await line in log.lines() { print(line) }
/// ```
///
/// A regular file has random access and a length, and readers see a snapshot of that length. Reading throws
/// ``BlobError/Code/changed`` if the file shrinks or is rewritten, and also if it is only touched, because only the
/// modification time reveals a rewrite of the same size. A file that grows is read to its original length if the last 4
/// KiB delivered are still in place; otherwise, or under ``GrowthPolicy/strict``, reading throws the same error. If a
/// file is replaced by another file of the same name, the old file is read to its end. If nothing has been delivered
/// yet, or the last delivered bytes are the same in both, a rewritten larger file cannot be distinguished from a file
/// that grew.
///
/// Several reads of less than 4 KiB in a row are served from 16 KiB that are read and checked at once, so that a change
/// is found after at most 16 KiB.
///
/// A FIFO is read once, from its start, and reading can be cancelled while it is empty. A block device has random
/// access and a length, but no validator. Other devices are read from their start to their end, if they have one.
/// Folders and sockets throw ``BlobError/Code/unsupported``. Files that report no size, such as those in `/proc` and
/// `/sys`, are read to their end.
public struct FileSource: BlobInputStreamDataSource {
    /// The handling of a file that grows while it is read.
    public enum GrowthPolicy: Sendable {
        /// Reads up to the length at opening. Use this policy for a log that is being written.
        case snapshot
        /// Throws ``BlobError/Code/changed``. Use this policy if all bytes must be from the same moment.
        case strict
    }

    private let path: FilePath
    private let growth: GrowthPolicy
    private let fifoOpening = SingleOpening()

    /// Creates a source for a path, which need not exist yet.
    ///
    /// - Parameters:
    ///   - path: An absolute path, or a path relative to the current folder at the time of this call.
    ///   - growth: The handling of a file that grows while it is read.
    public init(path: String, growth: GrowthPolicy = .snapshot) {
        self.init(pathBytes: Array(path.utf8), growth: growth)
    }

    /// Creates a source for a path; see ``init(path:growth:)``.
    public init(_ path: String, growth: GrowthPolicy = .snapshot) { self.init(path: path, growth: growth) }

    /// Creates a source for a file URL. Traps if `isFileURL` is false.
    public init(url: URL, growth: GrowthPolicy = .snapshot) {
        precondition(url.isFileURL, "The URL of a FileSource must be a file URL.")
        // `URL.path` is text, and is empty if the bytes are not UTF-8.
        let locator = try? BlobLocator(url.absoluteString)
        self.init(pathBytes: locator?.filePath ?? Array(url.path.utf8), growth: growth)
    }

    /// Creates a source for a path given as the bytes that the system uses, in no particular encoding.
    public init(pathBytes: [UInt8], growth: GrowthPolicy = .snapshot) {
        self.path = FilePath(pathBytes)
        self.growth = growth
        let isRepeatable = (try? self.path.status()).map { $0.isRegular || $0.isBlockDevice } ?? true
        self.traits = isRepeatable ? [.repeatable, .concurrentReaders] : []
    }

    /// Creates a source for the path of a regular file that was just listed.
    package init(pathOfRegularFile path: [UInt8]) {
        (self.path, self.growth, self.traits) = (FilePath(path), .snapshot, [.repeatable, .concurrentReaders])
    }

    /// Repeatable with concurrent readers, unless the path referred to something other than a regular file or a block
    /// device, such as a FIFO, when the source was created.
    public let traits: BlobTraits

    /// The locator, with the scheme `file`.
    public var locator: BlobLocator? { BlobLocator(filePath: self.path.bytes) }

    /// Returns the length, name and validator from `stat(2)`.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for a folder or a socket; any error of `stat(2)`.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        let status = try self.path.status()
        guard status.isRegular && (status.byteCount == 0 || status.hasNoBlocks) || status.isBlockDevice else {
            return try status.info(name: self.path.name)
        }
        // Only a read distinguishes an empty file from a file that reports no size, and only a seek measures a device.
        let descriptor = try FileDescriptor(opening: self.path)
        return try descriptor.info(name: self.path.name)
    }

    /// Opens the file, with a new descriptor for each reader.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for a FIFO that was already opened, a folder or a socket;
    ///   ``BlobError/Code/invalidArgument`` if `byteOffset` is negative or past the end; ``BlobError/Code/changed`` if
    ///   `validator` does not match; any error of `open(2)`.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let descriptor = try FileDescriptor(opening: self.path)
        let info = try descriptor.info(name: self.path.name)
        guard info.byteCount == nil else {
            let file = FileSnapshot(descriptor, growth: self.growth, opening.context)
            let canReadCached = !opening.context.mayBlock && descriptor.canReadCached
            return .positional(info, now: canReadCached ? file.readNow : nil, read: file.read)
        }
        try info.check(byteOffset: opening.byteOffset, matching: opening.validator)
        let body = BlobBody.stream(SequentialStream(descriptor, info: info), startingAt: 0)
        guard descriptor.status.isFIFO else { return body }
        return try self.fifoOpening.perform("A FIFO can be read only once, and has already been opened.") { body }
    }

    /// The provider for `file` and `stdin` locators.
    public static let provider = BlobProvider(
        .origin { locator, _ in
            guard locator.scheme == "file" else {
                guard locator.schemeSpecificPart.isEmpty else {
                    throw BlobError(
                        .invalidLocator, "The locator of standard input must be 'stdin:', with nothing after it.")
                }
                return StandardInputSource()
            }
            guard let path = locator.filePath else {
                throw BlobError(
                    .invalidLocator, "A file locator must have an absolute path and no host, as in file:///folder/name."
                )
            }
            return FileSource(pathBytes: path)
        }, schemes: ["file", "stdin"])
}

/// The bytes of standard input, starting at its current position.
///
/// The bytes can be read only once. A read can be cancelled while it waits for bytes.
public struct StandardInputSource: BlobInputStreamDataSource {
    private static let opening = SingleOpening()

    /// Creates a source. All instances represent the same standard input.
    public init() {}

    /// No traits, because the bytes can be read only once.
    public var traits: BlobTraits { [] }

    /// The locator `stdin:`.
    public var locator: BlobLocator? { try? BlobLocator("stdin:") }

    /// Returns an info with the name `stdin` and without a length.
    public func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(name: "stdin") }

    /// Opens standard input, which stays open after the reader is closed.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if standard input was already opened or is a directory.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let info = self.describe(opening.context)
        try info.check(byteOffset: opening.byteOffset, matching: opening.validator)
        let descriptor = try FileDescriptor(borrowing: STDIN_FILENO, named: "stdin")
        guard !descriptor.status.isFolder else {
            throw BlobError(.unsupported, "Standard input is a directory.")
        }
        return try Self.opening.perform("Standard input can be read only once, and has already been opened.") {
            .stream(SequentialStream(descriptor, info: info), startingAt: 0)
        }
    }
}

/// A stream of a file without a size or offsets, such as a FIFO, standard input or a file in `/proc`.
///
/// A descriptor is read only when `poll(2)` reports it as readable, even in blocking mode, so that no read blocks, and
/// a FIFO does not appear to be at its end before its first writer.
final class SequentialStream: BlobByteStream {
    let info: BlobInfo?
    private let descriptor: FileDescriptor
    private let slot = BlobWakerSlot()
    private var parking: BlobRegistration?

    init(_ descriptor: FileDescriptor, info: BlobInfo) {
        self.info = info
        self.descriptor = descriptor
    }

    /// True only for a FIFO, which is read once `poll(2)` reports it as readable. Other files may block, because a file
    /// in `/proc` generates its contents while it is read.
    var neverBlocks: Bool { self.descriptor.status.isFIFO }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let count = try output.append { try self.descriptor.isReadable() ? self.descriptor.read(into: $0) : -1 }
        guard count >= 0 else {
            self.parking = try BlobContext().park(self.descriptor.rawValue, BlobWaker { [slot] in slot.fire() })
            return .notYet
        }
        return count > 0 ? .bytes : .end
    }

    // The descriptor is closed with this stream, its only owner.
    func close() { self.parking = nil }
}
