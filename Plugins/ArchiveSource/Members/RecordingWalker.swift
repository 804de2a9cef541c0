import BlobCore

/// A walker that records the members which it passes over, so that the next search finds them in a table.
final class RecordingWalker: MemberWalker {
    private let base: any MemberWalker
    private var recording: TableRecording?
    /// The hashes of the names passed over; 64 bits each, and only for an ``ArchivePass``.
    private var passed: Set<UInt64>?
    /// The names that only one member may have, and the number of members with each.
    private var counts: [[UInt8]: Int] = [:]
    private var isAtEnd = false
    /// True when the next ``advance()`` stays at the member.
    private var isHeld = false
    /// The hash of the name of the current member; nil when an earlier one has the same.
    private var newHash: UInt64?

    /// The error of the archive or its base, since which nothing more can be read; nil when there was none.
    private(set) var failure: BlobError?

    /// - Parameters:
    ///   - base: A walker before the first member.
    ///   - tables: The holder that keeps the table when all members were passed.
    ///   - remembersNames: True when ``mayHavePassed(_:)`` is going to be called for a sequential walker.
    init(
        _ base: any MemberWalker, _ tables: TableHolder?, _ context: BlobContext, remembersNames: Bool = false
    ) throws(BlobError) {
        self.base = base
        self.recording = try tables?.learning(isSequential: base.isSequential, context)
        self.passed = remembersNames && base.isSequential ? [] : nil
    }

    var baseInfo: BlobInfo { self.base.baseInfo }
    var isSequential: Bool { self.base.isSequential }
    var index: Int { self.base.index }
    var entry: ArchiveEntry { self.base.entry }
    var place: Int64? { self.base.place }
    var storedRange: Range<Int64>? { self.base.storedRange }
    var check: String? { self.base.check }
    func isNamed(_ name: [UInt8]) -> Bool { self.base.isNamed(name) }

    /// Moves as the walker below does; the table would lack the members in between.
    func go(to place: Int64, index: Int) {
        (self.recording, self.isAtEnd, self.isHeld) = (nil, false, false)
        self.base.go(to: place, index: index)
    }

    func advance() throws(BlobError) -> Bool {
        guard !self.isAtEnd else { return false }
        if self.isHeld {
            self.isHeld = false
            if let newHash { self.passed?.insert(newHash) }
            return true
        }
        let hasMember = try self.noting { () throws(BlobError) in try self.base.advance() }
        guard hasMember else {
            self.isAtEnd = true
            return false
        }
        guard self.recording != nil || self.passed != nil else { return true }
        let member = self.base.entry.member
        self.recording?.append(member, at: self.base.place)
        if self.passed != nil {
            let hash = MemberTable.hash(member.name)
            self.newHash = self.passed?.insert(hash).inserted == true ? hash : nil
        }
        if !self.counts.isEmpty, let count = self.counts[member.name] { self.counts[member.name] = count + 1 }
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        try self.noting { () throws(BlobError) in try self.base.nextBlock() }
    }

    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int {
        do {
            return try self.base.readDirectly(into: &output)
        } catch {
            self.failure = error
            throw error
        }
    }

    /// Finishes the pass, and keeps the table when all members were passed.
    func finish() throws(BlobError) {
        try self.noting { () throws(BlobError) in try self.base.finish() }
        guard self.isAtEnd else { return }
        try self.recording?.finish()
        self.recording = nil
    }

    private func noting<Result>(_ body: () throws(BlobError) -> Result) throws(BlobError) -> Result {
        do {
            return try body()
        } catch {
            self.failure = error
            throw error
        }
    }
}

extension RecordingWalker {
    /// The index of the last member passed; -1 before the first one.
    var passedIndex: Int { self.isHeld ? self.base.index - 1 : self.base.index }

    /// Makes the next ``advance()`` stay at the member, of which nothing was read.
    func hold() {
        self.isHeld = true
        if let newHash { self.passed?.remove(newHash) }
    }

    /// Returns true when a member that the selector names may lie behind this walker; false is certain.
    func mayHavePassed(_ selector: BlobLocator.Selector) -> Bool {
        switch selector {
        case .index(let index): index <= self.passedIndex
        case .name(let name): self.passed?.contains(MemberTable.hash(name)) ?? true
        }
    }

    /// Counts the members with a name from now on, beginning with `count`.
    func requireUnique(_ name: [UInt8], count: Int) { self.counts[name] = count }

    /// Throws when several members have one of the names that only one may have.
    func checkUniqueNames() throws(BlobError) {
        for (name, count) in self.counts where count > 1 {
            throw BlobError(
                .ambiguousMember,
                "\(count) members have the name '\(BlobMember.printable(name))'; say which by its index.")
        }
    }
}
