import ArchiveSource
import BlobCore
import BlobDeflate
import BlobTestSupport

/// Checks the listing and the members of a zip.
func checkZip(_ bytes: [UInt8]) throws { try ArchiveChecks(bytes, .zip).run() }

/// Checks the listing and the members of a 7z.
func checkSevenZip(_ bytes: [UInt8]) throws { try ArchiveChecks(bytes, .sevenzip).run() }

/// Checks the listing and the members of a tar, which are the same without random access.
func checkTar(_ bytes: [UInt8]) throws {
    let checks = ArchiveChecks(bytes, .tar)
    let listing = try checks.run()
    let sequential = BlobArchive(checks.sequentialSource, format: .tar)
    try require(try Listing(sequential) == listing, "another listing without random access")
    for member in listing.members.prefix(ArchiveChecks.triedCount) {
        let selector = BlobLocator.Selector.index(member.index)
        let direct = try checks.outcome(BlobArchive(checks.base, format: .tar), selector)
        let passed = try checks.outcome(sequential, selector)
        try require(passed.agrees(with: direct.bytes), "member \(member.index): other bytes without random access")
        // Without random access, the whole archive has to be right.
        if listing.code == nil {
            try require(passed == direct, "member \(member.index): ends otherwise without random access")
        }
    }
}

private struct ArchiveChecks {
    /// The number of members that are read.
    static let triedCount = 10

    let base: any BlobInputStreamDataSource
    private let bytes: [UInt8]
    private let format: ArchiveFormat

    init(_ bytes: [UInt8], _ format: ArchiveFormat) {
        (self.bytes, self.format) = (bytes, format)
        self.base = MemorySource(bytes, validator: .strong("fuzz"))
    }

    /// The same bytes, readable only from the first on.
    var sequentialSource: any BlobInputStreamDataSource {
        let info = BlobInfo(byteCount: Int64(self.bytes.count), validator: .strong("fuzz"), isRandomAccess: false)
        return SequentialSource(info: info, traits: .repeatable) { [base] context in
            try base.makeBody(BlobOpening(context: context))
        }
    }

    @discardableResult func run() throws -> Listing {
        let archive = BlobArchive(self.base, format: self.format)
        let listing = try Listing(archive)
        let folder = try TemporaryFolder()
        let indexed = BlobArchive(self.base, format: self.format, index: .file(folder.path("index")))
        for time in ["first", "second"] {
            try require(try Listing(indexed) == listing, "another listing with an index, the \(time) time")
        }
        // A new value, which reads the table.
        let reopened = BlobArchive(self.base, format: self.format, index: .file(folder.path("index")))
        try require(try Listing(reopened) == listing, "another listing by a table")
        let names = Dictionary(listing.members.map { ($0.name, 1) }, uniquingKeysWith: +)
        for member in listing.members.prefix(Self.triedCount) {
            let direct = try self.outcome(archive, .index(member.index))
            try self.check(member, direct)
            let tabled = try self.outcome(reopened, .index(member.index))
            try require(tabled.agrees(with: direct.bytes), "member \(member.index): other bytes by a table")
            if direct.isWhole, listing.code == nil {
                try require(tabled == direct, "member \(member.index) ends with \(tabled.code as Any) by a table")
            }
            if names[member.name] == 1, !listing.isCut {
                let named = try self.outcome(archive, .name(member.name))
                try require(named.agrees(with: direct.bytes), "member \(member.index): other bytes by name")
            }
        }
        return listing
    }

    /// Checks a member that was read against its description.
    private func check(_ member: BlobMember, _ outcome: Outcome) throws {
        guard member.kind == .file, outcome.isWhole else { return }
        if let byteCount = member.byteCount {
            try require(byteCount == outcome.bytes.count, "member \(member.index): \(outcome.bytes.count) bytes")
        }
        if self.format != .tar, let checksum = member.checksum {
            var sum = CRC32()
            outcome.bytes.withUnsafeBytes { sum.update($0) }
            let digits = String(sum.value, radix: 16)
            try require(checksum.hasSuffix(digits), "member \(member.index) has the checksum \(digits)")
        }
        let source = try BlobArchive(self.base, format: self.format).source(.index(member.index))
        let offset = outcome.bytes.count / 2
        let half = try Outcome(of: source, at: Int64(offset))
        try require(
            half.isWhole && half.bytes == Array(outcome.bytes.dropFirst(offset)),
            "member \(member.index): other bytes from \(offset)")
    }

    func outcome(_ archive: BlobArchive, _ selector: BlobLocator.Selector) throws -> Outcome {
        try memberOutcome(archive, selector)
    }
}

/// Reads a member to its end, or 64 KiB of it.
func memberOutcome(_ archive: BlobArchive, _ selector: BlobLocator.Selector) throws -> Outcome {
    try Outcome(of: try archive.source(selector), atMost: 64 * 1024)
}

/// The members of an archive, as far as they can be listed, and how the listing ended.
struct Listing: Equatable {
    private static let maximumCount = 300

    var members: [BlobMember] = []
    var code: BlobError.Code?
    var isCut = false

    init(_ archive: BlobArchive) throws {
        do {
            try archive.forEachMember { member in
                self.isCut = self.members.count == Self.maximumCount
                if !self.isCut { self.members.append(member) }
                return !self.isCut
            }
        } catch {
            self.code = try faultOfInput(error)
        }
    }
}
