import BlobStreamsStandard

extension BlobRegistry {
    /// Returns the container at a locator.
    ///
    /// A name on the way to it that no member has stands for the only one that differs by a leading `./`.
    func openContainer(for locator: BlobLocator, _ context: BlobContext) throws(BlobError) -> any BlobContainer {
        try self.findingNames(in: locator, context) { locator throws(BlobError) in
            try self.container(for: locator, context: context)
        }
    }

    /// Returns the archive at a locator, as ``openContainer(for:_:)`` does.
    func openArchive(at locator: BlobLocator, _ context: BlobContext) throws(BlobError) -> BlobArchive {
        try self.findingNames(in: locator, context) { locator throws(BlobError) in
            try BlobArchive(locator, registry: self, context: context)
        }
    }

    /// Calls `open`, and throws an error that tells what else the source is, when it is no archive.
    func explainingWhatIsNoArchive<Found>(
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
                .unsupported, "This is \(text), no archive: read it with 'blob cat -z'.", operation: "resolve",
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
                found = try self.found(locator, context)
            } catch let other {
                // This `notFound` may suggest another name.
                let other = BlobError(wrapping: other)
                throw other.code == .notFound ? other : error
            }
            guard found != locator else { throw error }
            return try open(found)
        }
    }

    /// Returns a locator in which each name is that of a member.
    private func found(_ locator: BlobLocator, _ context: BlobContext) throws -> BlobLocator {
        var found = locator
        while let container = found.container { found = container }
        // The formats on the way are detected, whatever wrappers the locator has.
        var step = locator.origin
        for selector in locator.selectors {
            var selector = selector
            let container = try self.container(for: step, context: context)
            if case .name(let name) = selector {
                let member = try container.member(selector, context: context)
                let source = NamedMemberSource(member, named: name) { _ in container }
                if let other = try source.nameFound(context) { selector = .name(other) }
            }
            (found, step) = (found.selecting(selector), step.selecting(selector))
        }
        return found
    }
}
