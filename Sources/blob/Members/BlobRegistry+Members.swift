#if Command
import BlobStreamsStandard

extension BlobRegistry {
    /// Returns the container at a locator.
    ///
    /// If no member has a name that the locator contains, uses the only member name that differs by a leading `./`.
    func openContainer(for locator: BlobLocator, _ context: BlobContext) throws(BlobError) -> any BlobContainer {
        try self.findingNames(in: locator, context) { locator throws(BlobError) in
            try self.container(for: locator, context: context)
        }
    }

    /// Returns the archive at a locator, with the same treatment of names as ``openContainer(for:_:)``.
    func openArchive(at locator: BlobLocator, _ context: BlobContext) throws(BlobError) -> BlobArchive {
        try self.findingNames(in: locator, context) { locator throws(BlobError) in
            try BlobArchive(locator, registry: self, context: context)
        }
    }

    /// Calls `open`; if the source is not an archive, the error states the source's format.
    func describingNonArchive<Found>(
        _ locator: BlobLocator, _ context: BlobContext, _ open: () throws(BlobError) -> Found
    ) throws(BlobError) -> Found {
        do {
            return try open()
        } catch {
            guard error.code == .unsupported, let source = try? self.source(for: locator, context: context),
                source.traits.contains(.repeatable),
                let text = (try? SourceContent(of: source, self.signatureFilters(andContainers: true), context))?.text
            else { throw error }
            throw BlobError(
                .unsupported, "This is \(text), not an archive: read it with 'blob cat -z'.", operation: "resolve",
                locator: locator.description)
        }
    }

    private func findingNames<Found>(
        in locator: BlobLocator, _ context: BlobContext, _ open: (BlobLocator) throws(BlobError) -> Found
    ) throws(BlobError) -> Found {
        do {
            return try open(locator)
        } catch {
            guard error.code == .notFound else { throw error }
            let found: BlobLocator
            do {
                found = try self.foundLocator(locator, context)
            } catch let other {
                // This `notFound` error may suggest another name.
                let other = BlobError(wrapping: other)
                throw other.code == .notFound ? other : error
            }
            guard found != locator else { throw error }
            return try open(found)
        }
    }

    /// Returns a locator in which each name is the exact name of a member.
    private func foundLocator(_ locator: BlobLocator, _ context: BlobContext) throws -> BlobLocator {
        var found = locator
        while let container = found.container { found = container }
        // The formats of the enclosing containers are detected independently of the locator's wrappers.
        var step = locator.origin
        for selector in locator.selectors {
            var selector = selector
            let container = try self.container(for: step, context: context)
            if case .name(let name) = selector {
                let member = try container.member(selector, context: context)
                let source = NamedMemberSource(member, named: name) { _ in container }
                if let other = try source.foundMember(context).otherName { selector = .name(other) }
            }
            (found, step) = (found.selecting(selector), step.selecting(selector))
        }
        return found
    }
}

extension BlobRegistry {
    /// A pattern for the members of a container.
    struct MemberSelection {
        let container: BlobLocator
        let pattern: MemberPattern
        /// The name of a member that the pattern matches literally.
        let name: [UInt8]
        /// The part of the argument before the pattern.
        let prefix: Substring

        /// Returns true for a member with content and a matching name.
        func contains(_ member: BlobMember) -> Bool {
            (member.kind == .file || member.kind == .hardLink) && self.pattern.matches(member.name)
        }

        var noMatchError: BlobError {
            BlobError(
                .notFound, "No member matches the pattern '\(printable(self.pattern.text))'.\(self.pattern.advice)",
                operation: "resolve", locator: "\(self.prefix)\(self.pattern.text)")
        }
    }

    private func isRepeatable(_ selection: MemberSelection, _ context: BlobContext) throws(BlobError) -> Bool {
        try self.source(for: selection.container.origin, context: context).traits.contains(.repeatable)
    }

    /// Returns the pattern at the end of an argument for members of an archive that can be read only once; nil for any
    /// other argument.
    ///
    /// An exact match cannot be detected in advance in such an archive; a member with exactly this name is among the
    /// matches.
    func pipedSelection(_ argument: String, _ context: BlobContext) -> MemberSelection? {
        let selection = self.memberSelection(argument)
        return selection.flatMap { (try? self.isRepeatable($0, context)) == false ? $0 : nil }
    }

    /// Calls `body` with each member that a pattern selects and the member's source, in one pass.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if no member matches; the errors of reading the archive and of `body`.
    func forEachMember(
        of selection: MemberSelection, _ context: BlobContext,
        _ body: (_ argument: String, _ source: any BlobInputStreamDataSource) throws -> Void
    ) throws {
        var isFound = false
        let archive = try self.openArchive(at: selection.container, context)
        let isWanted = { selection.contains($0) || $0.name == selection.name }
        try archive.forEachSource(where: isWanted, context) { member, source in
            guard isWanted(member) else { return }
            isFound = true
            try body("\(selection.prefix)\(member.printableName)", source)
        }
        guard isFound else { throw selection.noMatchError }
    }

    /// Returns the pattern for members at the end of an argument; nil for any other argument.
    func memberSelection(_ argument: String) -> MemberSelection? {
        guard argument.utf8.contains(UInt8(ascii: "#")), argument.utf8.contains(where: "*?[".utf8.contains),
            let locator = try? self.locator(for: argument),
            case (let container, .name(let name))? = self.member(at: locator)
        else { return nil }
        // The text of the last selector is the longest suffix of the argument that yields the selector's name.
        for index in argument.indices where argument[index] == "#" || argument[index] == "/" {
            let end = argument[argument.index(after: index)...]
            guard PercentEncoding.decode(end.utf8) == name else { continue }
            let pattern = MemberPattern(end)
            guard pattern.hasWildcard else { return nil }
            return MemberSelection(container: container, pattern: pattern, name: name, prefix: argument[...index])
        }
        return nil
    }

    /// Returns the arguments, with each pattern replaced by arguments for the members that it selects.
    ///
    /// Keeps a pattern that has no match or is in an unreadable container; reading it later reports the error.
    func expanding(_ arguments: [String], _ context: BlobContext) throws(BlobError) -> [String] {
        let all = arguments.flatMap { (try? self.expanded($0, context)) ?? [$0] }
        try context.check()
        return all
    }

    /// Returns the arguments for the members that a pattern in an argument selects, in the order of the container.
    ///
    /// Returns the argument itself if it contains no pattern, names a member, or is in a container that can be read
    /// only once.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if no member matches; the errors of reading the container.
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
        guard !members.isEmpty else { throw selection.noMatchError }
        return members.map { member in
            guard counts[member.name] == 1 else { return "\(selection.prefix)@\(member.index)" }
            let text = "\(selection.prefix)\(member.printableName)"
            let locator = selection.container.selecting(.name(member.name))
            return (try? self.locator(for: text)) == locator ? text : locator.text
        }
    }
}
#endif
