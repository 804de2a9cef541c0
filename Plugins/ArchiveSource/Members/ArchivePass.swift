package import BlobCore

/// A pass over one archive, in which several members are read one after the other.
///
/// Over a base without random access, such as a compressed base, a member that comes later in the archive than the
/// previous member is reached by reading further. Any other member ends the pass and begins another. The checks at the
/// end of the archive do not run at the end of each member; ``finish(_:)`` runs them for all members.
///
/// Between two members, the pass keeps the reader positioned after the first: an open base with its decoder, a buffer
/// of 256 KiB, and about 50 bytes for each member passed over.
package final class ArchivePass: Sendable {
    private enum Position {
        case beginning
        /// A member is being read.
        case lent
        case parked(UnsafeTransfer<RecordingWalker>)
    }

    private struct State {
        var position = Position.beginning
        var context: BlobContext?
        /// True if bytes were read since the end of the archive was last checked.
        var isUnchecked = false
        /// The error with which the kept reader failed.
        var failure: BlobError?
        var validator: BlobValidator?
        var uniqueNames: Set<[UInt8]> = []
    }

    private let archive: Archive
    private let readsDirectory: Bool
    private let state = Locked(State())

    /// - Parameter readsDirectory: True if the archive's own directory is always read as a whole. Members are then
    ///   found in it by their indices, which costs less than a table look-up for each member.
    init(_ archive: Archive, readsDirectory: Bool) {
        (self.archive, self.readsDirectory) = (archive, readsDirectory)
    }

    /// Returns true if the kept reader may have passed the member, so that reading it begins another pass.
    package func mayHavePassed(_ selector: BlobLocator.Selector) -> Bool {
        self.state.withLock {
            guard case .parked(let walker) = $0.position else { return false }
            return walker.value.mayHavePassed(selector)
        }
    }

    /// Moves the kept reader to the next member that matches one of the selectors, and returns that selector; nil if
    /// no such member follows, or no reader is kept.
    func advance(
        to wanted: Set<BlobLocator.Selector>, _ context: BlobContext
    ) throws(BlobError) -> BlobLocator.Selector? {
        let lease = try self.lend(for: nil, context)
        guard lease.pass != nil else { return nil }
        while try lease.walker.advance() {
            let found: [BlobLocator.Selector] = [.name(lease.walker.entry.member.name), .index(lease.walker.index)]
            guard let selector = found.first(where: wanted.contains) else { continue }
            lease.walker.hold()
            return selector
        }
        return nil
    }

    /// Moves the kept reader to the first member with at least this index, and returns the member; nil at the end of
    /// the archive.
    ///
    /// After this call, the final checks are necessary, even if no member is read.
    ///
    /// - Throws: Any error reading the archive, including errors of the previous member.
    func member(from index: Int, _ context: BlobContext) throws(BlobError) -> BlobMember? {
        let lease = try self.lend(for: index, context)
        guard lease.pass != nil else {
            throw self.state.withLock { $0.failure }
                ?? BlobError(.internalError, "The pass over the archive has no reader to advance.")
        }
        lease.isRead = true
        while try lease.walker.advance() {
            guard lease.walker.index >= index else { continue }
            lease.walker.hold()
            return lease.walker.entry.member
        }
        return nil
    }

    /// Reads the archive to its end, and performs the final checks for all members that were read.
    ///
    /// - Throws: Any error reading the archive; ``BlobError/Code/ambiguousMember`` if a later member has the same name
    ///   as a member that was read; ``BlobError/Code/changed`` if the archive has changed in the meantime.
    package func finish(_ context: BlobContext) throws(BlobError) {
        let old = self.state.exchange(State())
        guard old.isUnchecked else { return }
        let walker: RecordingWalker
        if case .parked(let parked) = old.position {
            walker = parked.value
        } else {
            // The kept reader failed, so another reader must verify that the archive is intact.
            walker = try self.makeWalker(context)
            guard let validator = old.validator, validator == walker.baseInfo.validator else {
                throw BlobError(
                    .changed, "The rest of the archive cannot be verified, because its content may have changed.")
            }
            for name in old.uniqueNames { walker.requireUnique(name, count: 0) }
        }
        walker.willRead(from: .max)
        while try walker.advance() {}
        try walker.finish()
        try walker.checkUniqueNames()
    }

    /// Returns the table for a search, after finishing the pass if it may have passed the member; nil without a table.
    func table(
        for selector: BlobLocator.Selector, _ catalogue: any ArchiveCatalogue, _ context: BlobContext
    ) throws(BlobError) -> MemberTable? {
        if self.readsDirectory, case .index = selector { return nil }
        // A table may be built first if no pass is in progress.
        let isIdle = self.state.withLock { state in
            if case .beginning = state.position { !state.isUnchecked } else { false }
        }
        if isIdle { return try self.archive.tables.searchedTable(catalogue, context) }
        if let table = try self.archive.tables.table(context) { return table }
        guard self.mayHavePassed(selector) else { return nil }
        try self.finish(context)
        return try self.archive.tables.table(context)
    }

    /// Lends a walker for a member.
    ///
    /// Lends the kept walker if it is before the member and the archive is read from beginning to end; otherwise makes
    /// a walker.
    ///
    /// - Parameter index: The index of the member; nil if the member is known to be ahead.
    func lend(for index: Int?, _ context: BlobContext) throws(BlobError) -> WalkerLease {
        let context = context.blocking  // Walkers block, regardless of the reader.
        let isBehind = self.state.withLock { state in
            guard case .parked(let walker) = state.position, let index else { return false }
            return index <= walker.value.passedIndex
        }
        if isBehind { try self.finish(context) }
        let parked: (UnsafeTransfer<RecordingWalker>, BlobContext)? = self.state.withLock { state in
            guard case .parked(let walker) = state.position, let own = state.context, own.hasSameLimits(as: context)
            else { return nil }
            state.position = .lent
            return (walker, own)  // Safe: the lock orders the hand-over, and the state no longer has the walker.
        }
        if let (walker, own) = parked { return WalkerLease(walker.value, self, own, context) }
        // A child context, so that the contexts of later members can also cancel it.
        let own = context.makeChild()
        let walker = try self.makeWalker(own)
        let isKept = self.state.withLock { state in
            guard walker.isSequential, case .beginning = state.position, !state.isUnchecked else { return false }
            (state.position, state.context, state.validator) = (.lent, own, walker.baseInfo.validator)
            return true
        }
        return WalkerLease(walker, isKept ? self : nil, own, context)
    }

    /// - Throws: The error with which the kept reader failed, if the archive can be read only once.
    private func makeWalker(_ context: BlobContext) throws(BlobError) -> RecordingWalker {
        if !self.archive.base.traits.contains(.repeatable), let failure = self.state.withLock({ $0.failure }) {
            throw failure
        }
        return try RecordingWalker(
            self.archive.walker(context), self.archive.tables, context, remembersNames: true)
    }

    fileprivate func take(_ lease: WalkerLease) {
        self.state.withLock { state in
            state.isUnchecked = state.isUnchecked || lease.isRead
            if lease.isRead, let name = lease.uniqueName {
                state.uniqueNames.insert(name)
                lease.walker.requireUnique(name, count: 1)
            }
            state.failure = lease.walker.failure
            state.position = state.failure == nil ? .parked(UnsafeTransfer(lease.walker)) : .beginning
        }
    }
}

/// A lease of a walker for one member, which ends when this object is released.
final class WalkerLease {
    let walker: RecordingWalker
    /// The pass to which the walker returns; nil if this member is read on its own.
    let pass: ArchivePass?
    /// The name of the member, if no later member may have it.
    var uniqueName: [UInt8]?
    /// True if bytes of the member were read.
    var isRead = false

    /// The registration by which cancelling the member also cancels a call of the walker.
    private let cancellationRegistration: BlobRegistration

    /// - Parameters:
    ///   - own: The context of the walker.
    ///   - context: The context of the member.
    fileprivate init(_ walker: RecordingWalker, _ pass: ArchivePass?, _ own: BlobContext, _ context: BlobContext) {
        self.walker = walker
        self.pass = pass
        self.cancellationRegistration = context.cancellation.onCancel { own.cancellation.cancel() }
    }

    deinit {
        self.cancellationRegistration.cancel()
        self.pass?.take(self)
    }
}

/// A walker that records the members that it passes over, so that the next search finds them in a table.
final class RecordingWalker: WalkerLayer {
    let base: any MemberWalker
    private var recording: TableRecording?
    /// The 64-bit hashes of the names passed over; used only for an ``ArchivePass``.
    private var passedNameHashes: Set<UInt64>?
    /// The names that must be unique, and the number of members with each name.
    private var counts: [[UInt8]: Int] = [:]
    private var isAtEnd = false
    /// True if the next ``advance()`` stays at the member.
    private var isHeld = false
    /// The hash of the current member's name; nil if an earlier name has the same hash.
    private var newHash: UInt64?

    /// The error of the archive or its base that ended reading; nil if reading can continue.
    private(set) var failure: BlobError?

    /// - Parameters:
    ///   - base: A walker before the first member.
    ///   - tables: The cache that receives the table after all members were passed.
    ///   - remembersNames: True to remember the names that a sequential walker passes, for ``mayHavePassed(_:)``.
    init(
        _ base: any MemberWalker, _ tables: MemberTableCache?, _ context: BlobContext, remembersNames: Bool = false
    ) throws(BlobError) {
        self.base = base
        self.recording = try tables?.optionalRecording(isSequential: base.isSequential, context)
        self.passedNameHashes = remembersNames && base.isSequential ? [] : nil
    }

    /// Moves the underlying walker, and stops recording, because the table would lack the skipped members.
    func go(to place: Int64, index: Int) {
        (self.recording, self.isAtEnd, self.isHeld) = (nil, false, false)
        self.base.go(to: place, index: index)
    }

    func advance() throws(BlobError) -> Bool {
        guard !self.isAtEnd else { return false }
        if self.isHeld {
            self.isHeld = false
            if let newHash { self.passedNameHashes?.insert(newHash) }
            return true
        }
        let hasMember = try self.recordingFailure { () throws(BlobError) in try self.base.advance() }
        guard hasMember else {
            self.isAtEnd = true
            return false
        }
        guard self.recording != nil || self.passedNameHashes != nil else { return true }
        let member = self.base.entry.member
        self.recording?.append(member, at: self.base.entryOffset)
        if self.passedNameHashes != nil {
            let hash = MemberTable.hash(member.name)
            self.newHash = self.passedNameHashes?.insert(hash).inserted == true ? hash : nil
        }
        if !self.counts.isEmpty, let count = self.counts[member.name] { self.counts[member.name] = count + 1 }
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        try self.recordingFailure { () throws(BlobError) in try self.base.nextBlock() }
    }

    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int {
        try self.recordingFailure { () throws(BlobError) in try self.base.readDirectly(into: &output) }
    }

    /// Finishes the pass, and stores the table if all members were passed.
    func finish() throws(BlobError) {
        try self.recordingFailure { () throws(BlobError) in try self.base.finish() }
        guard self.isAtEnd else { return }
        try self.recording?.finish()
        self.recording = nil
    }

    private func recordingFailure<Result>(_ body: () throws(BlobError) -> Result) throws(BlobError) -> Result {
        do {
            return try body()
        } catch {
            self.failure = error
            throw error
        }
    }

    /// The index of the last member passed; -1 before the first member.
    var passedIndex: Int { self.isHeld ? self.base.index - 1 : self.base.index }

    /// Makes the next ``advance()`` stay at the current member, whose bytes must not have been read.
    func hold() {
        self.isHeld = true
        if let newHash { self.passedNameHashes?.remove(newHash) }
    }

    /// Returns false only if this walker has certainly not passed a member that the selector matches.
    func mayHavePassed(_ selector: BlobLocator.Selector) -> Bool {
        switch selector {
        case .index(let index): index <= self.passedIndex
        case .name(let name): self.passedNameHashes?.contains(MemberTable.hash(name)) ?? true
        }
    }

    /// Starts to count the members with a name, beginning with `count`.
    func requireUnique(_ name: [UInt8], count: Int) { self.counts[name] = count }

    /// Throws if several members share a name that must be unique.
    func checkUniqueNames() throws(BlobError) {
        for (name, count) in self.counts where count > 1 {
            throw BlobError(
                .ambiguousMember,
                "\(count) members have the name '\(BlobMember.printable(name))'; select one by its index.")
        }
    }
}
