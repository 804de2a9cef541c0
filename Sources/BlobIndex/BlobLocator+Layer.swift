package import BlobCore

extension BlobLocator {
    /// Returns the path of layers of a wrapper around this locator, as in ``IndexSection/Key/layer``: `tar+gzip`.
    package func layer(_ wrapper: String) -> String {
        let wrappers = [wrapper] + self.scheme.split(separator: "+").dropLast().map(String.init)
        let path = wrappers.joined(separator: "+")
        guard !self.selectors.isEmpty else { return path }
        return "\(path)#\(self.selectors.map(\.text).joined(separator: "!/"))"
    }
}
