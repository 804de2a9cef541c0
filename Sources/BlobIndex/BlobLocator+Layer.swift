package import BlobStreams

extension BlobLocator {
    /// The path of layers up to a wrapper around this locator, as ``IndexSection/Key/layer`` has it: `tar+gzip`.
    package func layer(_ wrapper: String) -> String {
        let wrappers = [wrapper] + self.scheme.split(separator: "+").dropLast().map(String.init)
        let path = wrappers.joined(separator: "+")
        guard !self.selectors.isEmpty else { return path }
        return "\(path)#\(self.selectors.map(\.text).joined(separator: "!/"))"
    }
}
