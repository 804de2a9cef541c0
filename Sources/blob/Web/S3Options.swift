#if Command
import ArgumentParser
import BlobStreamsStandard
import BlobTransfer

/// The options for stores with the S3 interface.
struct S3Options: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use the S3 store at this URL (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS).",
            valueName: "url"))
    var endpointUrl: String?

    @Option(help: "Use this region for S3 buckets (default: AWS_REGION, or the region of the profile).")
    var region: String?

    @Flag(help: "Access S3 stores without credentials.")
    var noSignRequest = false

    /// Returns a registry whose stores use these options.
    func applied(to registry: BlobRegistry, _ settings: BlobTransferSettings) -> BlobRegistry {
        guard
            self.noSignRequest || (self.endpointUrl ?? self.region) != nil || settings != BlobTransferSettings()
        else { return registry }
        return registry.replacing([S3Source.provider(self.options(settings))])
    }

    /// Returns the settings for a store.
    func options(_ settings: BlobTransferSettings) -> S3Source.Options {
        var options = S3Source.Options()
        (options.endpoint, options.region) = (self.endpointUrl, self.region)
        if self.noSignRequest { options.credentials = .anonymous }
        options.transfers = settings
        return options
    }
}
#endif
