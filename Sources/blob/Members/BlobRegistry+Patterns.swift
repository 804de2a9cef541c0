import BlobStreamsStandard

extension BlobRegistry {
    /// A pattern for members of a container.
    struct MemberSelection {
        let container: BlobLocator
        let pattern: MemberPattern
        /// The name that an exact member would have.
        let name: [UInt8]
        /// The argument up to the pattern.
        let prefix: Substring

        /// Returns true for a member with bytes whose name matches.
        func contains(_ member: BlobMember) -> Bool {
            (member.kind == .file || member.kind == .hardLink) && self.pattern.matches(member.name)
        }

        static func noMatch(_ argument: String) -> BlobError {
            BlobError(.notFound, "No member matches the pattern.", operation: "resolve", locator: argument)
        }
    }

    private func isRepeatable(_ selection: MemberSelection, _ context: BlobContext) throws(BlobError) -> Bool {
        try self.source(for: selection.container.origin, context: context).traits.contains(.repeatable)
    }

    /// Returns the pattern with which an argument ends, for members of an archive that can be read only once; nil for
    /// any other argument.
    ///
    /// Nothing can tell in time whether a member has exactly the name: one that does is among those that match.
    func pipedSelection(_ argument: String, _ context: BlobContext) -> MemberSelection? {
        let selection = self.memberSelection(argument)
        return selection.flatMap { (try? self.isRepeatable($0, context)) == false ? $0 : nil }
    }

    /// Calls `body` with each member that a pattern selects, and its source, in one pass.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when no member matches; any error of reading the archive or of `body`.
    func forEachMember(
        of selection: MemberSelection, _ context: BlobContext,
        _ body: (_ argument: String, _ source: any BlobInputStreamDataSource) throws -> Void
    ) throws {
        var isFound = false
        let archive = try self.openArchive(at: selection.container, context)
        try archive.forEachSource(isWhole: false, context) { member, source in
            guard selection.contains(member) || member.name == selection.name else { return }
            isFound = true
            try body("\(selection.prefix)\(member.printableName)", source)
        }
        guard isFound else { throw MemberSelection.noMatch("\(selection.prefix)\(selection.pattern.text)") }
    }

    /// Returns the pattern for members with which an argument ends; nil for any other argument.
    func memberSelection(_ argument: String) -> MemberSelection? {
        guard argument.utf8.contains(UInt8(ascii: "#")), argument.utf8.contains(where: "*?[".utf8.contains),
            let locator = try? self.locator(for: argument), let container = locator.container,
            case .name(let name) = locator.selectors.last, self.endsWithMember(locator)
        else { return nil }
        // The text of the last selector is the longest end of the argument that has its name.
        for index in argument.indices where argument[index] == "#" || argument[index] == "/" {
            let end = argument[argument.index(after: index)...]
            guard PercentEncoding.decode(end.utf8) == name else { continue }
            let pattern = MemberPattern(end)
            guard pattern.hasWildcard else { return nil }
            return MemberSelection(container: container, pattern: pattern, name: name, prefix: argument[...index])
        }
        return nil
    }

    /// Returns arguments in which each with a pattern is replaced with those for the members that it selects.
    ///
    /// One whose container cannot be read, or without a match, stays: reading it reports the error in its turn.
    func expanding(_ arguments: [String], _ context: BlobContext) throws(BlobError) -> [String] {
        let all = arguments.flatMap { (try? self.expanded($0, context)) ?? [$0] }
        try context.check()
        return all
    }

    /// Returns the arguments for the members that an argument selects by a pattern, in the order of the container; the
    /// argument itself when it has no pattern, is the name of a member, or is in a container that can be read only once.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when no member matches; the errors of reading the container.
    private func expanded(_ argument: String, _ context: BlobContext) throws -> [String] {
        guard let selection = self.memberSelection(argument), try self.isRepeatable(selection, context) else {
            return [argument]
        }
        var members: [BlobMember] = []
        var counts: [[UInt8]: Int] = [:]
        var isName = false
        try self.openContainer(for: selection.container, context).forEachMember(context) { member in
            isName = isName || member.name == selection.name
            guard selection.pattern.matches(member.name) else { return true }
            counts[member.name, default: 0] += 1
            if selection.contains(member) { members.append(member) }
            return true
        }
        guard !isName else { return [argument] }
        guard !members.isEmpty else { throw MemberSelection.noMatch(argument) }
        return members.map { member in
            guard counts[member.name] == 1 else { return "\(selection.prefix)@\(member.index)" }
            let text = "\(selection.prefix)\(member.printableName)"
            let locator = selection.container.selecting(.name(member.name))
            return (try? self.locator(for: text)) == locator ? text : locator.text
        }
    }
}
