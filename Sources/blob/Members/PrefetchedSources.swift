#if Command
import BlobStreamsStandard

/// Requests the first bytes of a list's next network sources while earlier sources are read.
///
/// If a source cannot be created, the error is reported when the source is created again in its turn.
final class PrefetchedSources: Sendable {
    private struct State {
        /// The sources, keyed by the bytes of their arguments, because strings that differ only in their Unicode form
        /// are equal.
        var sources: [[UInt8]: [any BlobInputStreamDataSource]] = [:]
        var sourceCount = 0
        /// The position of the next argument to examine.
        var nextIndex = 0
    }

    /// The maximum number of sources to request at once.
    private static let maximumCount = 48
    /// The number of bytes to request from each source: the first window of a reader.
    private static let byteCount: Int64 = 64 * 1024

    private let arguments: [String]
    private let registry: BlobRegistry
    private let state = Locked(State())

    init(_ arguments: [String], _ registry: BlobRegistry) { (self.arguments, self.registry) = (arguments, registry) }

    /// Returns the source of an argument and requests the next sources; nil if the caller must create the source.
    func take(_ argument: String, _ context: BlobContext) -> (any BlobInputStreamDataSource)? {
        self.state.withLock { state in
            while state.sourceCount < Self.maximumCount, state.nextIndex < self.arguments.count {
                let argument = self.arguments[state.nextIndex]
                state.nextIndex += 1
                guard let source = self.source(argument, context) else { continue }
                source.prepare([0..<Self.byteCount], context)
                state.sources[Array(argument.utf8), default: []].append(source)
                state.sourceCount += 1
            }
            guard state.sourceCount > 0, let source = state.sources[Array(argument.utf8)]?.popLast() else { return nil }
            state.sourceCount -= 1
            return source
        }
    }

    /// Returns the source of an argument if its readers do not block and an unused source has no side effects.
    private func source(_ argument: String, _ context: BlobContext) -> (any BlobInputStreamDataSource)? {
        // A path has no scheme.
        guard argument.utf8.contains(UInt8(ascii: ":")), let locator = try? self.registry.locator(for: argument),
            locator.selectors.isEmpty, let source = try? self.registry.source(for: locator, context: context),
            source.traits.isSuperset(of: [.preparable, .repeatable])
        else { return nil }
        return source
    }
}
#endif
