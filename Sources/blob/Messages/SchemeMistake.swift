import BlobStreamsStandard

extension BlobError {
    /// This error with what the user may have meant by a name that looks like a scheme, if that is what is wrong.
    func suggestingSchemes(of registry: BlobRegistry) -> BlobError {
        guard [.notFound, .notRegistered].contains(self.code), let text = self.locator,
            let suggestion = Self.suggestion(for: text, self.code, registry)
        else { return self }
        return self.adding("Did you mean '\(suggestion)'?")
    }

    private static func suggestion(for text: String, _ code: Code, _ registry: BlobRegistry) -> String? {
        let schemes = registry.providers.flatMap(\.schemes)
        guard let locator = try? BlobLocator(text) else { return nil }
        guard code == .notRegistered else {
            // A file that is not there, whose name begins as a wrapper might.
            guard let name = locator.filePath?.split(separator: UInt8(ascii: "/")).last,
                let plus = name.firstIndex(of: UInt8(ascii: "+")),
                let scheme = Self.scheme(meantBy: String(decoding: name[..<plus], as: UTF8.self), among: schemes)
            else { return nil }
            return scheme + String(decoding: name[plus...], as: UTF8.self)
        }
        let rest = locator.schemeSpecificPart
        if locator.scheme.contains("."), rest.first?.isNumber == true { return "http://\(text)" }
        if rest.prefix(while: \.isNumber).count > 1, !rest.hasPrefix("/") { return "http://\(text)" }
        for scheme in locator.scheme.split(separator: "+").map(String.init) where !schemes.contains(scheme) {
            guard let near = Self.scheme(meantBy: scheme, among: schemes) else { return nil }
            return text.replacing(scheme, with: near, maxReplacements: 1)
        }
        return nil
    }

    /// The wrappers by the extensions of files.
    private static let wrappers = [
        "gz": "gzip", "bz": "bzip2", "bz2": "bzip2", "zst": "zstd", "7z": "sevenzip", "7zip": "sevenzip", "lz": "lzip",
        "tgz": "gzip",
    ]

    private static func scheme(meantBy text: String, among schemes: [String]) -> String? {
        self.wrappers[text] ?? Suggestion.nearest(to: text, among: schemes)
    }
}
