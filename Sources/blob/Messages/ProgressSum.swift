#if Command
import BlobPlatform
import BlobStreamsStandard

/// The progress of all sources of a command on one line, with a total once the length of every source is known.
final class ProgressSum<Key: Hashable & Sendable>: Sendable {
    private struct State {
        /// The bytes done and the length of each source that has begun or whose length is known.
        var items: [Key: (done: Int64, total: Int64?)] = [:]
        var (done, total) = (Int64(0), Int64(0))
        var unknownCount = 0
        var finished: Set<Key> = []

        mutating func set(_ key: Key, _ done: Int64, _ total: Int64?) {
            let old = self.items.updateValue((done, total), forKey: key)
            // A source may state any length.
            self.done &+= done &- (old?.done ?? 0)
            self.total &+= (total ?? 0) &- (old?.total ?? 0)
            self.unknownCount += total == nil ? 1 : 0
            if let old, old.total == nil { self.unknownCount -= 1 }
        }
    }

    let line: ProgressLine
    /// True if the bytes that origins deliver are counted, rather than the bytes that the command processes.
    let isOfInput: Bool
    let itemCount: Int?
    private let noun: String
    private let state = Locked(State())

    /// - Parameters:
    ///   - itemCount: The number of sources; nil if unknown.
    ///   - noun: The plural name of a source.
    init(_ line: ProgressLine, of itemCount: Int?, _ noun: String = "", isOfInput: Bool = false) {
        (self.line, self.itemCount, self.isOfInput) = (line, itemCount, isOfInput)
        self.noun = noun.isEmpty ? "" : " \(noun)"
    }

    /// Announces the length of a source before its first byte.
    func expect(_ byteCount: Int64?, of key: Key) {
        guard let byteCount else { return }
        self.state.withLock { $0.set(key, 0, byteCount) }
    }

    /// Shows the number of bytes done of a source, and its length if that is known.
    func show(_ key: Key, _ done: Int64, of total: Int64?) {
        self.state.withLock { state in
            state.set(key, done, total)
            self.draw(state)
        }
    }

    /// Shows further bytes of a source, which do not count beyond its length: some may be read again.
    func add(_ key: Key, _ count: Int, of total: Int64?) {
        self.state.withLock { state in
            let (done, known) = state.items[key] ?? (0, nil)
            let total = total ?? known
            state.set(key, min(done &+ Int64(count), total ?? .max), total)
            self.draw(state)
        }
    }

    /// Ends a source, whose length is from then on the number of bytes done.
    func finish(_ key: Key) {
        self.state.withLock { state in
            let done = state.items[key]?.done ?? 0
            state.set(key, done, done)
            // Without a number of sources, there is no total, and only the bytes are counted.
            guard self.itemCount != nil else { return state.items[key] = nil }
            state.finished.insert(key)
        }
    }

    func done(_ key: Key) -> Int64 { self.state.withLock { $0.items[key]?.done ?? 0 } }

    private func draw(_ state: State) {
        let isKnown = state.unknownCount == 0 && state.items.count == self.itemCount
        self.line.show(
            state.done, of: isKnown ? state.total : nil,
            note: self.itemCount.map { $0 == 1 ? "" : "\(state.finished.count) of \($0)\(self.noun), " } ?? "")
    }
}

extension ProgressSum<String> {
    /// Creates the progress of arguments, keyed by the text of a locator; the lengths of local files are known.
    ///
    /// - Parameter isOfInput: True to count the bytes of the arguments' origins, such as archives; each is one source.
    convenience init(_ line: ProgressLine, of arguments: [String]?, isOfInput: Bool, _ registry: BlobRegistry) {
        let locators = line.isShown ? (arguments ?? []).map { try? registry.locator(for: $0) } : []
        let count = isOfInput ? Set(locators.map { $0?.origin.text }).count : arguments?.count
        self.init(line, of: count, isOfInput: isOfInput)
        var counts: [String: Int] = [:]
        for case let locator? in locators where isOfInput || locator.scheme == "file" && locator.selectors.isEmpty {
            let text = locator.origin.text
            self.expect(
                locator.origin.fileByteCount, of: isOfInput ? text : Self.key(of: text, counts[text, default: 0]))
            counts[text, default: 0] += 1
        }
    }

    /// Returns the key of a source after `count` earlier copies of it.
    static func key(of text: String, _ count: Int) -> String { count == 0 ? text : "\(text)\n\(count)" }
}

extension BlobRegistry {
    /// Returns a registry that adds the bytes of all origins to a progress of input.
    func counting(_ sum: ProgressSum<String>) -> BlobRegistry {
        guard sum.isOfInput, sum.line.isShown else { return self }
        return self.layeringOrigins { layers, locator in
            layers.onBytes = { count, _, byteCount in sum.add(locator.text, count, of: byteCount) }
        }
    }
}

extension BlobLocator {
    /// The length in bytes of a regular file, 0 if the file cannot be read at all; nil for any other source.
    var fileByteCount: Int64? {
        guard let path = self.filePath, !path.contains(0) else { return nil }
        guard let status = FileStatus(at: path.cString), !status.isFolder else { return 0 }
        return status.type == S_IFREG ? status.byteCount : nil
    }
}
#endif
