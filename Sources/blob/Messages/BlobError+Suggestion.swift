#if Command
import BlobStreamsStandard

extension BlobError {
    /// Returns this error with the locator that the user may have meant, if a scheme or a wrapper was not recognised.
    func suggestingSchemes(of registry: BlobRegistry) -> BlobError {
        guard let text = self.locator, let locator = try? BlobLocator(text),
            let suggestion = self.suggestion(for: locator, among: registry.providers.flatMap(\.schemes))
        else { return self }
        return self.adding("Did you mean '\(suggestion)'?")
    }

    private func suggestion(for locator: BlobLocator, among schemes: [String]) -> String? {
        switch self.code {
        case .notRegistered:
            // A host, with or without a port.
            let port = locator.schemeSpecificPart.prefix(while: \.isNumber)
            let isHost = locator.scheme.contains(".") && !port.isEmpty || port.count > 1
            return isHost ? "http://\(locator.text)" : nil
        case .notFound:
            // A missing file whose name begins like a wrapper.
            guard let name = locator.filePath?.split(separator: UInt8(ascii: "/")).last,
                let plus = name.firstIndex(of: UInt8(ascii: "+")),
                let scheme = Suggestion.scheme(meantBy: String(decoding: name[..<plus], as: UTF8.self), among: schemes)
            else { return nil }
            return scheme + String(decoding: name[plus...], as: UTF8.self)
        default: return nil
        }
    }
}
#endif
