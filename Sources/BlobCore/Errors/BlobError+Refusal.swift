extension BlobError {
    /// The maximum number of characters of an explanation in a message.
    private static let excerptLength = 200

    /// Returns the message for an HTTP response that refuses a request; it quotes the beginning of the explanation.
    ///
    /// An HTML page is omitted: it adds nothing to the status.
    ///
    /// - Parameter location: The target of a redirection that is not followed.
    package static func refusalMessage(
        _ status: Int, _ reason: String, location: String? = nil, _ explanation: some Collection<UInt8>
    ) -> String {
        var message = "The server answered \(status)"
        if !reason.isEmpty { message += " \(reason)" }
        if (300..<400).contains(status), let location {
            message += ", pointing to \(BlobCore.printableURL(location)), which is not followed"
        }
        let text = String(decoding: explanation, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        let beginning = text.prefix(Self.excerptLength)
        let isPage = text.hasPrefix("<!") || text.hasPrefix("<") && beginning.lowercased().contains("<html")
        if !text.isEmpty, !isPage { message += ": " + beginning + (beginning.endIndex < text.endIndex ? "..." : "") }
        if let last = message.last, !".!?".contains(last) { message += "." }
        return message
    }
}
