public import BlobCore

extension HTTPSource {
    /// The provider for `http` and `https` locators, with the default options.
    public static let provider = provider(Options())

    /// Returns a provider for `http` and `https` locators.
    public static func provider(_ options: Options) -> BlobProvider {
        BlobProvider(
            .origin { locator, _ in try HTTPSource(locator, options: options) }, schemes: ["http", "https"],
            reachesNetwork: true)
    }
}
