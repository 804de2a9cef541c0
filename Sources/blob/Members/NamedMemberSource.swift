#if Command
import BlobStreamsStandard

/// A member of a container.
///
/// If no member has the name, stands for the member whose name differs by a leading `./`, or, for a name with a `#`, for
/// a member of the nested container before the `#`.
struct NamedMemberSource: BlobLayer, NamedLayer {
    /// The maximum number of names that are searched for a similar one.
    static let maximumNameCount = 10_000

    /// The maximum number of errors with a suggestion, because each suggestion searches the names of its archive.
    static let maximumSuggestionCount = 10

    private static let suggestionCount = Locked(0)

    let underlying: any BlobInputStreamDataSource
    private let name: [UInt8]
    private let openContainer: @Sendable (BlobContext) throws -> any BlobContainer
    private let openNested: OpenNested?

    /// Opens the container that a member contains; returns nil if the member is not a container.
    typealias OpenNested = @Sendable (any BlobInputStreamDataSource, BlobContext) throws -> (any BlobContainer)?

    /// - Parameters:
    ///   - openContainer: Opens the container, to search it for another name.
    ///   - openNested: Opens a container in a member; nil to reject a name with a `#` that no member has.
    init(
        _ member: any BlobInputStreamDataSource, named name: [UInt8],
        _ openContainer: @escaping @Sendable (BlobContext) throws -> any BlobContainer, openNested: OpenNested? = nil
    ) {
        (self.underlying, self.name, self.openContainer) = (member, name, openContainer)
        self.openNested = openNested
    }

    /// The name of the member's own layer, for errors.
    var layer: String { self.underlying.layerName }

    var traits: BlobTraits { self.underlying.traits }

    var locator: BlobLocator? { self.underlying.locator }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        do {
            return try self.underlying.describe(context)
        } catch {
            return try self.substitute(for: error, context).describe(context)
        }
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        do {
            return try self.underlying.makeBody(opening)
        } catch {
            return try self.substitute(for: error, opening.context).makeBody(opening)
        }
    }

    /// Returns the member itself, or its substitute and the substitute's name.
    func foundMember(_ context: BlobContext) throws -> (source: any BlobInputStreamDataSource, otherName: [UInt8]?) {
        do {
            _ = try self.underlying.info(context)
            return (self.underlying, nil)
        } catch {
            return (try self.substitute(for: error, context), Self.toggled(self.name))
        }
    }

    private func substitute(
        for error: any Error, _ context: BlobContext
    ) throws -> any BlobInputStreamDataSource {
        let error = BlobError(wrapping: error)
        guard error.code == .notFound else { throw error }
        let mark = self.name.firstIndex(of: UInt8(ascii: "#"))
        guard self.underlying.traits.contains(.repeatable), mark == nil || self.openNested != nil else {
            guard mark != nil else { throw error }
            throw error.adding("For a member of a nested archive, write '!/' instead of a second '#'.")
        }
        let container = try self.openContainer(context)
        if let mark, let openNested = self.openNested {
            let names = (Array(self.name[..<mark]), Array(self.name[(mark + 1)...]))
            let outer = NamedMemberSource(
                try container.member(.name(names.0), context: context), named: names.0, { _ in container })
            guard let nested = try openNested(outer, context) else { throw error }
            let member = try nested.member(.name(names.1), context: context)
            return NamedMemberSource(member, named: names.1, { _ in nested }, openNested: openNested)
        }
        do {
            let other = try container.member(.name(Self.toggled(self.name)), context: context)
            _ = try other.info(context)
            return other
        } catch {
            try context.check()
        }
        guard !MemberPattern(String(decoding: self.name, as: UTF8.self)[...]).hasWildcard else {
            throw try self.noMatchError(in: container, error, context)
        }
        guard let name = try self.suggestion(in: container, context) else { throw error }
        throw error.adding("Did you mean '\(name)'?")
    }

    /// Returns a similar member name; nil if no name is similar, or after the maximum number of suggestions.
    private func suggestion(in container: any BlobContainer, _ context: BlobContext) throws -> String? {
        let count = Self.suggestionCount.withLock { count in
            count += 1
            return count
        }
        guard count <= Self.maximumSuggestionCount else { return nil }
        var names: [String] = []
        try container.forEachMember(context) { member in
            names.append(member.printableName)
            return names.count < Self.maximumNameCount
        }
        let (name, last) = (BlobMember.printable(self.name), Self.lastComponent(of: self.name))
        return Suggestion.nearest(to: name, among: names)
            ?? names.first { Self.lastComponent(of: Array($0.utf8)) == last }
    }

    /// Returns the error for a pattern that matches no member.
    private func noMatchError(
        in container: any BlobContainer, _ error: BlobError, _ context: BlobContext
    ) throws -> BlobError {
        var isEmpty = true
        try container.forEachMember(context) { _ in
            isEmpty = false
            return false
        }
        let pattern = BlobMember.printable(self.name)
        return error.replacingMessage(
            isEmpty
                ? "The archive has no members."
                : "No member matches the pattern '\(pattern)'.\(MemberPattern(pattern[...]).advice)")
    }

    private static func lastComponent(of name: [UInt8]) -> ArraySlice<UInt8>? {
        name.split(separator: UInt8(ascii: "/")).last
    }

    /// Returns the name without its leading `./`, or with a leading `./` if it has none.
    private static func toggled(_ name: [UInt8]) -> [UInt8] {
        let prefix = Array("./".utf8)
        return name.starts(with: prefix) ? Array(name[2...]) : prefix + name
    }
}
#endif
