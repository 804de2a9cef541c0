import BlobCore

extension ZipSearch.Found {
    /// Returns the bytes of an encrypted member, which libarchive decrypts as a stored one, and which is then read as
    /// any other.
    ///
    /// - Throws: ``BlobError/Code/encrypted`` without a password, or when the one there is does not fit.
    func makeBody(
        _ info: BlobInfo, decrypting encryption: ZipEncryption, over base: any BlobInputStreamDataSource,
        _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        let decrypted = self.entry.decrypted
        let range = 0..<decrypted.compressedByteCount
        let bytes = DecryptedBytes(
            sealed: self.entry.sealed.alone(over: base.slice(self.data)), byteCount: range.upperBound,
            password: try context.requirePassword(of: base.locator))
        let start = self.data.lowerBound + encryption.overhead.before
        // The authentication code is verified behind the checks of the decrypted bytes.
        let reportEnd = { [entry = self.entry] in
            context.reportEnd(of: ArchiveFormat.zip.rawValue, byteCount: entry.byteCount, check: entry.check)
        }
        var context = context
        context.eventSink = nil
        do throws(BlobError) {
            let scanner = try ArchiveScanner(bytes, context)
            // A wrong password is shown by the first read.
            _ = try scanner.bytes(at: 0, count: 1)
            let found = ZipSearch.Found(entry: decrypted, data: range, next: range.upperBound, scanner: scanner)
            let body = try found.makePlainBody(info, over: bytes, context)
            // A walker reads to the end itself.
            let isWalked = if case .stream(let stream, _) = body { stream is MemberStream } else { false }
            let check = DecryptedMember(encrypted: isWalked ? nil : scanner, start: start, reportEnd: reportEnd)
            return .inspected(try BlobReader(body, BlobOpening(context: context)), check, startingAt: 0)
        } catch {
            throw error.ofDecryption(start)
        }
    }
}

extension BlobContext {
    /// Returns the password of the archive at a locator.
    ///
    /// - Throws: ``BlobError/Code/encrypted`` when there is none, or one that no archive can have; any error of
    ///   ``BlobContext/password``.
    func requirePassword(of archive: BlobLocator?) throws(BlobError) -> String {
        let password: String?
        do { password = try self.password?(archive) } catch { throw BlobError(wrapping: error) }
        guard let password else { throw .withoutPassword("This member") }
        guard !password.isEmpty, !password.utf8.contains(0) else {
            throw BlobError(.encrypted, "This member is encrypted, and its password cannot be empty or contain a zero.")
        }
        return password
    }
}

extension BlobError {
    /// Returns the error of a decrypted member, whose first byte after those of the encryption is at `start`.
    fileprivate func ofDecryption(_ start: Int64) -> BlobError {
        guard self.isAboutFormat || self.code == .inconsistent || self.code == .limitExceeded else { return self }
        // Some wrong passwords pass the check of one or two bytes, and give meaningless bytes.
        let isCertain = self.code == .encrypted || self.code == .unsupported
        let hint = isCertain ? "" : " The password may be wrong, or the member damaged."
        return BlobError(
            self.code, self.message + hint, operation: self.operation, byteOffset: self.byteOffset.map { $0 + start },
            remedy: self.remedy, cause: self.cause)
    }
}

/// The decrypted bytes of a member of a zip, which may still be compressed.
private struct DecryptedBytes: BlobInputStreamDataSource {
    /// A zip with the encrypted bytes as its only member, declared as stored.
    let sealed: any BlobInputStreamDataSource
    let byteCount: Int64
    let password: String

    var traits: BlobTraits { self.sealed.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: self.byteCount) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let walker = try ArchiveWalker(.zip, over: self.sealed, opening.context, password: self.password)
        guard try walker.advance() else { throw BlobError(.corrupted, "The encrypted member was not found.") }
        let (entry, member) = (walker.entry, walker.entry.member)
        let found = MemberSearch.Found(
            walker: walker, entry: entry, member: member, uniqueName: nil, checksum: nil, lease: nil)
        let info = self.describe(opening.context)
        return .stream(MemberStream(found, info: info, format: .zip), startingAt: 0)
    }
}

/// Reads the encrypted bytes of a member to their end, and so checks their authentication code, before the end is
/// reported.
private struct DecryptedMember: BlobInspector {
    /// The scanner of the encrypted bytes; nil when they are read to their end in any case.
    let encrypted: ArchiveScanner?
    /// The offset in the archive of the first encrypted byte.
    let start: Int64
    let reportEnd: () -> Void

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        if isLast {
            do throws(BlobError) { try self.encrypted?.drain() } catch { throw error.ofDecryption(self.start) }
            self.reportEnd()
        }
        return 0..<bytes.byteCount
    }

    func reported(_ error: BlobError) -> BlobError { error.ofDecryption(self.start) }
}
