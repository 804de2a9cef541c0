public import BlobCore

extension S3Source {
    /// The provider for `s3` locators, with the default options.
    public static let provider = provider(Options())

    /// Returns a provider for `s3` locators. Its sources share the credentials, which are looked for once.
    public static func provider(_ options: Options) -> BlobProvider {
        self.provider { try S3Store(options, .process) }
    }

    static func provider(_ makeStore: @escaping @Sendable () throws -> S3Store) -> BlobProvider {
        let store = Locked<S3Store?>(nil)
        return BlobProvider(
            .origin { locator, _ in
                let address = try S3Address(locator)
                let store = try store.withLock { known in
                    let store = try known ?? makeStore()
                    known = store
                    return store
                }
                return S3Source(locator, address, store)
            }, schemes: ["s3"], reachesNetwork: true)
    }
}
