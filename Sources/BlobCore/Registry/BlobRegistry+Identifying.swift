import BlobPlatform

extension BlobRegistry {
    /// Finds the provider that decodes `source`: by signature, then by the formats that providers recognise without a
    /// signature, then by media type, then by file name extension, then by looking further into a source with random
    /// access.
    ///
    /// The result is deterministic: the longest signature wins, then the longest extension, then the provider that was
    /// registered first. Reads the first 36 KiB at most, and no more than the registered signatures need, unless all
    /// other methods fail and the source has random access.
    ///
    /// - Returns: The provider that decodes the source, or nil if no provider does; and the source to continue with,
    ///   which has all bytes even if it can be read only once and its beginning was read.
    /// - Throws: The errors of reading the source. After damage within these bytes, the bytes before it may still
    ///   identify the source by a signature or as a format without one; the error is then left to the source's readers.
    public func identify(
        _ source: any BlobInputStreamDataSource, context: BlobContext = BlobContext()
    ) throws(BlobError) -> (provider: BlobProvider?, source: any BlobInputStreamDataSource) {
        let recognizers = self.providers.contains { $0.recognizes != nil } ? Self.recognizedByteCount : 0
        let extents = self.providers.flatMap(\.signatures).map { $0.byteOffset + $0.bytes.count }
        return try BlobError.wrapping {
            let peeked = try self.peek(source, max(extents.max() ?? 0, recognizers), context)
            if let provider = self.providerBySignature(of: peeked.beginning)
                ?? self.providerByContent(of: peeked.beginning)
            {
                return (provider, peeked.source)
            }
            if let damage = peeked.damage { throw damage }
            let provider =
                try peeked.info.mediaType.flatMap(self.provider(forMediaType:))
                ?? peeked.info.name.flatMap(self.provider(forFileName:))
                ?? (peeked.info.isRandomAccess ? self.providerByProbing(source, context) : nil)
            return (provider, peeked.source)
        }
    }

    private func providerBySignature(of beginning: Data) -> BlobProvider? {
        self.best { provider in
            provider.signatures.filter { $0.matches(beginning) }.map(\.bytes.count).max()
        }
    }

    /// The number of bytes that ``BlobProvider/recognizes`` receives: the size of a tar header.
    private static let recognizedByteCount = 512

    private func providerByContent(of beginning: Data) -> BlobProvider? {
        let bytes = Array(beginning.prefix(Self.recognizedByteCount))
        return self.providers.first { $0.recognizes?(bytes) ?? false }
    }

    private func providerByProbing(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws -> BlobProvider? {
        guard source.traits.contains(.repeatable) else { return nil }
        return try self.providers.first { try $0.recognizesWithin?(source, context) ?? false }
    }

    private func provider(forMediaType mediaType: String) -> BlobProvider? {
        let type = mediaType.prefix { $0 != ";" && !$0.isWhitespace }.lowercased()
        return self.providers.first { $0.mediaTypes.contains(type) }
    }

    private func provider(forFileName name: String) -> BlobProvider? {
        let name = name.lowercased()
        return self.best { provider in
            provider.fileExtensions.filter { name.hasSuffix(".\($0)") }.map(\.utf8.count).max()
        }
    }

    /// The errors of bytes that are wrong or missing, as opposed to bytes that could not be read.
    private static let damageCodes: Set<BlobError.Code> = [.corrupted, .truncated, .checksumMismatch, .sizeMismatch]

    /// Returns the first provider with the highest score.
    private func best(_ score: (BlobProvider) -> Int?) -> BlobProvider? {
        var best: (provider: BlobProvider, score: Int)?
        for provider in self.providers {
            guard let score = score(provider), score > best?.score ?? 0 else { continue }
            best = (provider, score)
        }
        return best?.provider
    }

    /// Reads the first bytes of a source.
    ///
    /// - Returns: The bytes, the info, and the source to read from now on; the error if data after the bytes is
    ///   damaged.
    private func peek(
        _ source: any BlobInputStreamDataSource, _ byteCount: Int, _ context: BlobContext
    ) throws -> (beginning: Data, info: BlobInfo, source: any BlobInputStreamDataSource, damage: BlobError?) {
        // A child, so that the later reader can also cancel it.
        let context = context.makeChild()
        let reader = try source.open(context: context)
        let info = reader.info
        var damage: BlobError?
        do {
            _ = try reader.peekBlocking(byteCount)
        } catch let error as BlobError where Self.damageCodes.contains(error.code) {
            damage = error
        }
        let beginning = Data(reader.peeked)
        guard !source.traits.contains(.repeatable) else {
            reader.close()
            return (beginning, info, source, damage)
        }
        // The source can be read only once: this reader delivers the bytes again.
        let rest = UnsafeTransfer(reader)  // Handed over to the single opening that takes it.
        let whole = SequentialSource(layer: source.layerName, locator: source.locator, info: info) { later in
            let cancelling = later.cancellation.onCancel { context.cancellation.cancel() }
            return .inspected(rest.value, UnchangedBytes(keeping: cancelling), startingAt: 0)
        }
        return (beginning, info, whole, damage)
    }
}
