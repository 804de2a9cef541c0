import BlobStreamsStandard

/// The next sources of a list that are on the network: their requests are under way while others are printed.
///
/// A source that cannot be opened yet is opened when its turn comes, which reports the error.
struct OpenedAhead {
    /// The number of sources that are opened at once: each keeps a connection and at most 1 MiB.
    private static let maximumCount = 4

    /// The age at which a reader is closed, and another source is opened: the server may have lost patience.
    private static let maximumAge = Duration.seconds(5)

    private let arguments: [String]
    private let registry: BlobRegistry
    private let context: BlobContext
    private var readers: [Int: (source: any BlobInputStreamDataSource, reader: BlobReader, since: Moment)] = [:]
    /// The position of the next argument to look at.
    private var next = 0

    init(_ arguments: [String], _ registry: BlobRegistry, _ context: BlobContext) {
        (self.arguments, self.registry, self.context) = (arguments, registry, context)
    }

    /// Opens the sources from a position on.
    mutating func open(from position: Int) {
        self.next = max(self.next, position)
        while self.next < min(position + Self.maximumCount, self.arguments.count) {
            if let source = self.source(self.next), let reader = try? source.open(context: self.context) {
                reader.whenReadable(BlobWaker {})  // Makes the request.
                self.readers[self.next] = (source, reader, .now)
            }
            self.next += 1
        }
    }

    /// Returns the source of an argument with its reader; nil when it is to be opened now.
    mutating func take(_ position: Int) -> (any BlobInputStreamDataSource, BlobReader)? {
        guard let (source, reader, since) = self.readers.removeValue(forKey: position) else { return nil }
        guard since.instant + Self.maximumAge < .now else { return (source, reader) }
        reader.close()
        return nil
    }

    /// Returns the source of an argument, if its readers do not block, and one that is not used leaves no trace.
    private func source(_ position: Int) -> (any BlobInputStreamDataSource)? {
        // A path is none: it has no scheme.
        guard self.arguments[position].utf8.contains(UInt8(ascii: ":")),
            let locator = try? self.registry.locator(for: self.arguments[position]), locator.selectors.isEmpty,
            let source = try? self.registry.source(for: locator, context: self.context),
            source.traits.isSuperset(of: [.neverBlocks, .repeatable, .concurrentReaders])
        else { return nil }
        return source
    }
}
