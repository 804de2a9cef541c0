import BlobStreamsStandard

/// The arguments that name members of archives, by archive.
struct ArchiveGroups {
    /// An archive, and the positions and selectors of the arguments that name its members: two or more.
    struct Group {
        let archive: BlobLocator
        var members: [(position: Int, selector: BlobLocator.Selector)] = []
    }

    /// By the text of the archive's locator.
    private var groups: [String: Group] = [:]
    private var groupOfPosition: [Int: String] = [:]

    init(_ arguments: [String], _ registry: BlobRegistry) {
        for (position, argument) in arguments.enumerated() {
            // Errors in an argument are reported when its turn comes.
            guard argument.utf8.contains(UInt8(ascii: "#")), let locator = try? registry.locator(for: argument),
                let selector = locator.selectors.last,
                let archive = locator.container, registry.endsWithMember(locator)
            else { continue }
            self.groups[archive.text, default: Group(archive: archive)].members.append((position, selector))
            self.groupOfPosition[position] = archive.text
        }
        self.groups = self.groups.filter { $0.value.members.count > 1 }
    }

    /// Removes and returns the group of an argument; nil when it has none, or that was removed before.
    mutating func remove(of position: Int) -> Group? {
        self.groupOfPosition[position].flatMap { self.groups.removeValue(forKey: $0) }
    }
}
