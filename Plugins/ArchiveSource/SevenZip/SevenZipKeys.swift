import BlobCore

/// The keys of one archive. Deriving one takes about 0.1 seconds, so they are kept as long as the archive is used.
final class SevenZipKeys: Sendable {
    private struct State {
        var keys: [SevenZipEncryption.Secret: AES256] = [:]
        /// The secrets with which bytes were decrypted that have their checksum.
        var proven: Set<SevenZipEncryption.Secret> = []
    }

    /// The maximum number of keys that are kept.
    private static let maximumCount = 64

    private let state = Locked(State())

    /// Returns the key for an encryption, and the secret that it is made of.
    ///
    /// - Throws: ``BlobError/Code/encrypted`` when there is no password; the errors of asking for it and of
    ///   ``SevenZipEncryption/Secret/makeKey(_:)``.
    func key(
        _ encryption: SevenZipEncryption, of locator: BlobLocator?, _ context: BlobContext
    ) throws(BlobError) -> (key: AES256, secret: SevenZipEncryption.Secret) {
        let password: String?
        do {
            password = try context.password?(locator)
        } catch {
            throw BlobError(wrapping: error)
        }
        guard let password else { throw .withoutPassword("This archive") }
        let secret = encryption.secret(password)
        if let key = self.state.withLock({ $0.keys[secret] }) { return (key, secret) }
        let key = try secret.makeKey(context)
        self.state.withLock { state in
            if state.keys.count >= Self.maximumCount { state = State() }
            state.keys[secret] = key
        }
        return (key, secret)
    }

    /// Stores that secrets are right.
    func prove(_ secrets: [SevenZipEncryption.Secret]) { self.state.withLock { $0.proven.formUnion(secrets) } }

    /// Returns true when secrets are known to be right.
    func areProven(_ secrets: [SevenZipEncryption.Secret]) -> Bool {
        self.state.withLock { $0.proven.isSuperset(of: secrets) }
    }
}

extension BlobError {
    static func withoutPassword(_ what: String) -> BlobError {
        BlobError(.encrypted, "\(what) is encrypted, and no password is given.")
    }

    static func withoutProof(_ what: String) -> BlobError {
        BlobError(.encrypted, "\(what) is encrypted, and has no checksum that shows whether the password is right.")
    }

    static func wrongPassword(_ what: String, _ cause: BlobError? = nil) -> BlobError {
        BlobError(.encrypted, "\(what) cannot be read: the password is wrong, or the archive is damaged.", cause: cause)
    }
}
