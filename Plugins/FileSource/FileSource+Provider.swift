public import BlobCore

extension FileSource {
    /// The provider for `file` and `stdin` locators.
    public static let provider = BlobProvider(
        .origin { locator, _ in
            guard locator.scheme == "file" else {
                guard locator.schemeSpecificPart.isEmpty else {
                    throw BlobError(.invalidLocator, "Standard input is 'stdin:', with nothing behind it.")
                }
                return StandardInputSource()
            }
            guard let path = locator.filePath else {
                throw BlobError(
                    .invalidLocator, "A file locator has an absolute path and no host: file:///folder/name.")
            }
            return FileSource(pathBytes: path)
        }, schemes: ["file", "stdin"])
}
