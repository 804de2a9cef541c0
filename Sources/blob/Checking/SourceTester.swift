#if Command
import BlobCommandLine
import BlobStreamsStandard

/// Reads sources and all members of archives to their ends, which verifies all checksums on the way.
final class SourceTester {
    private var sources: ArgumentSources
    private let output: TestOutput
    /// The recorders for the checks of members and of their surrounding layers, and the context that reports to the
    /// second recorder.
    private let (members, layers) = (PassedChecks.Recorder(), PassedChecks.Recorder())
    private let context: BlobContext
    private let unrecordedContext: BlobContext
    private let copier: Copier
    private let maximumByteCount: Int64?
    private let failures: SourceFailures

    /// - Parameter limit: The maximum total number of bytes of all sources; nil for no limit.
    init(
        _ sources: ArgumentSources, _ output: TestOutput, _ context: BlobContext, limit: Int64?,
        progress: ProgressSum<String>, isFailFast: Bool
    ) {
        (self.sources, self.output, self.maximumByteCount) = (sources, output, limit)
        (self.context, self.unrecordedContext) = (self.layers.context(context), context)
        self.copier = Copier(
            DiscardingOutput(), limit: limit, progress: progress, self.members.context(context))
        self.failures = SourceFailures(isFailFast: isFailFast)
    }

    /// Tests all arguments, and prints the outcomes.
    ///
    /// - Throws: The exit status of the first reported error, or an error that ends the command.
    func test(_ list: ArgumentList) throws {
        defer { self.copier.finish() }
        self.sources.prefetched = PrefetchedSources(list.texts, self.sources.registry)
        var groups = ArchiveGroups(list.texts.map { self.isPattern($0) ? "" : $0 }, self.sources.registry)
        var tested: Set<Int> = []
        do {
            for (position, argument) in list.texts.enumerated() where !tested.contains(position) {
                do {
                    if let group = groups.remove(of: position) {
                        tested.formUnion(group.members.map(\.position))
                        try self.test(group, list)
                    } else {
                        try self.test(argument)
                    }
                } catch {
                    // A source that cannot be opened has no outcome of its own.
                    let error = list.naming(error, position)
                    try self.record(error)
                    try self.output.print(TestOutcome(name: printableArgument(argument), error: error))
                }
            }
        } catch {
            self.copier.finish()
            try self.failures.end(with: error)
        }
        try self.failures.end()
    }

    private func isPattern(_ argument: String) -> Bool { self.sources.registry.memberSelection(argument) != nil }

    /// Reports an error; throws it if the remaining sources cannot or should not be tested.
    private func record(_ error: BlobError) throws(BlobError) {
        self.copier.finish()
        let isLimitOfAll = self.maximumByteCount.map { self.copier.writtenByteCount >= $0 } ?? false
        try self.failures.record(error, mayContinueAtLimit: !isLimitOfAll)
    }

    // MARK: One argument

    private func test(_ argument: String) throws {
        let registry = self.sources.registry
        if let selection = registry.memberSelection(argument) {
            let archive = try registry.openArchive(at: selection.container, self.context)
            var outcome = ArchiveOutcome(name: printableArgument(argument))
            try self.testMembers(of: archive, selection.container, prefix: String(selection.prefix), &outcome) {
                selection.contains($0) || $0.name == selection.name
            }
            guard outcome.memberCount > 0 || outcome.error != nil else {
                throw selection.noMatchError
            }
            return try self.output.print(outcome)
        }
        let locator = try registry.locator(for: argument)
        if let source = try self.source(argument, locator) { return try self.test(source, argument, locator) }
        let archive = try registry.openArchive(at: locator, self.context)
        try self.test(archive, argument, locator) { _ in }
    }

    /// Returns the source of an argument; nil if the argument names an archive, such as `zip+x.zip`.
    private func source(
        _ argument: String, _ locator: BlobLocator
    ) throws(BlobError) -> (any BlobInputStreamDataSource)? {
        do throws(BlobError) {
            return try ArgumentSources(registry: self.sources.registry, prefetched: self.sources.prefetched)
                .source(argument, self.context)
        } catch {
            guard error.code == .invalidLocator, locator.scheme.contains("+") else { throw error }
            return nil
        }
    }

    /// Tests a source, or its members if the source is an archive.
    private func test(_ source: any BlobInputStreamDataSource, _ argument: String, _ locator: BlobLocator) throws {
        let content = try self.content(of: source)
        guard let container = content.container?.members else {
            var outcome = try self.outcome(of: content.source, printableArgument(argument))
            outcome.checks.add(self.layers.take())
            return try self.output.print(outcome)
        }
        try self.test(BlobArchive(container), argument, locator) { outcome in
            // A filter or a member read from its middle has not verified all of its bytes.
            let wrappers = locator.scheme.split(separator: "+").dropLast().map(String.init)
            let isUnread = (content.filters + wrappers.filter(self.isFilter)).contains {
                !outcome.layerChecks.contains(layer: $0) && !outcome.memberChecks.contains(layer: $0)
            }
            guard content.source.traits.contains(.repeatable), outcome.error == nil else { return }
            let isMember = try !locator.selectors.isEmpty && content.source.info(self.context).isRandomAccess
            guard isUnread || isMember else { return }
            try self.copier.copy(content.source)
            outcome.layerChecks.add(self.members.take())
        }
    }

    private func isFilter(_ scheme: String) -> Bool {
        if case .filter = self.sources.registry.provider(for: scheme)?.kind { true } else { false }
    }

    /// Tests the members of an archive, then calls `finish` to read the rest.
    private func test(
        _ archive: BlobArchive, _ argument: String, _ locator: BlobLocator,
        finish: (inout ArchiveOutcome) throws -> Void
    ) throws {
        let name = printableArgument(argument)
        var outcome = ArchiveOutcome(name: name)
        let prefix = "\(name)\(locator.selectors.isEmpty ? "#" : "!/")"
        try self.testMembers(of: archive, locator, prefix: prefix, &outcome) { _ in true }
        do {
            try finish(&outcome)
        } catch {
            let error = BlobError(wrapping: error)
            try self.record(error)
            outcome.error = error
        }
        try self.output.print(outcome)
    }

    /// Removes the filters that the content or the name indicates, and returns the content.
    private func content(of source: any BlobInputStreamDataSource) throws(BlobError) -> SourceContent {
        // A source that is opened again reports its checks again.
        try SourceContent(of: source, self.sources.registry, self.context) {
            $0.traits.contains(.repeatable) ? self.unrecordedContext : self.context
        }
    }

    // MARK: Members

    /// Tests the selected members in the order of the archive, and performs the checks at its end.
    private func testMembers(
        of archive: BlobArchive, _ locator: BlobLocator, prefix: String, _ outcome: inout ArchiveOutcome,
        isSelected: (BlobMember) -> Bool
    ) throws {
        var lastMessage: String?
        do {
            try archive.forEachSource(self.context) { member, source in
                guard isSelected(member) else { return }
                let tested = try self.test(member, source, "\(prefix)\(member.printableName)", locator)
                outcome.add(tested)
                lastMessage = tested.error?.message ?? lastMessage
                try self.output.print(member: tested)
            }
        } catch {
            let error = BlobError(wrapping: error)
            // After a member fails, an archive that is read in one pass fails with the same error.
            if error.message != lastMessage || error.code == .cancelled { try self.record(error) }
            outcome.error = error
        }
        outcome.layerChecks.add(self.layers.take())
    }

    private func test(
        _ member: BlobMember, _ source: any BlobInputStreamDataSource, _ name: String, _ archive: BlobLocator
    ) throws -> TestOutcome {
        let hasBytes = member.kind == .file || member.kind == .hardLink && member.byteCount ?? 0 > 0
        do {
            try member.checkHeader()
            // An empty member without a checksum leaves nothing to check.
            guard hasBytes, member.byteCount != 0 || member.checksum != nil || member.isEncrypted else {
                return TestOutcome(name: name, index: member.index, byteCount: hasBytes ? 0 : nil)
            }
            var outcome = try self.outcome(of: self.sources.decoded(source, self.context), name)
            outcome.index = member.index
            return outcome
        } catch {
            var error = BlobError(wrapping: error)
            error.locator = archive.selecting(.name(member.name)).description
            try self.record(error)
            return TestOutcome(name: name, index: member.index, error: error)
        }
    }

    /// Reads a source to its end.
    private func outcome(of source: any BlobInputStreamDataSource, _ name: String) throws -> TestOutcome {
        _ = self.members.take()
        let start = self.copier.writtenByteCount
        try self.copier.copy(source)
        return TestOutcome(name: name, byteCount: self.copier.writtenByteCount - start, checks: self.members.take())
    }

    // MARK: Several members of one archive

    /// Tests the members that several arguments name in one archive, in one pass over it.
    ///
    /// Members that are themselves archives are reported separately, before the others.
    private func test(_ group: ArchiveGroups.Group, _ list: ArgumentList) throws {
        var outcomes: [Int: TestOutcome?] = [:]
        var failure: BlobError?
        do {
            let archive = try self.sources.registry.openArchive(at: group.archive, self.context)
            let sources = ArgumentSources(registry: self.sources.registry)
            try group.forEachSource(in: archive, sources, self.context) { position, makeSource in
                let name = printableArgument(list.texts[position])
                do {
                    let member = try makeSource()
                    let content = try self.content(of: SingleUseSource(underlying: member))
                    if let container = content.container?.members {
                        outcomes[position] = .some(nil)
                        let locator = try self.sources.registry.locator(for: list.texts[position])
                        try self.test(BlobArchive(container), list.texts[position], locator) { _ in }
                    } else {
                        outcomes[position] = try self.outcome(of: content.source, name)
                    }
                } catch {
                    let error = list.naming(error, position)
                    try self.record(error)
                    outcomes[position] = TestOutcome(name: name, error: error)
                }
            }
        } catch {
            failure = BlobError(wrapping: error)
            if let failure, !outcomes.values.contains(where: { $0?.error?.message == failure.message }) {
                try self.record(failure)
            }
        }
        let checks = self.layers.take()
        for (position, _) in group.members {
            let missing = TestOutcome(name: printableArgument(list.texts[position]))
            guard var outcome = outcomes[position, default: missing] else { continue }
            // An error at the end of the archive concerns all of its members.
            outcome.error = outcome.error ?? failure
            outcome.checks.add(checks)
            try self.output.print(outcome)
        }
    }
}

/// A source that can be opened only once, so that detecting its format does not open it a second time.
private struct SingleUseSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource

    var traits: BlobTraits { self.underlying.traits.subtracting([.repeatable, .concurrentReaders]) }
    var locator: BlobLocator? { self.underlying.locator }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(try self.underlying.open(opening), UnchangedBytes(), startingAt: opening.byteOffset)
    }
}
#endif
