import BlobStreamsStandard

extension BlobError {
    /// The options that help against errors, by parts of their messages: the libraries that make these do not know the
    /// command.
    private static let advice: [(code: Code, part: String, advice: String)] = [
        (.encrypted, "no password is given", "--password-file FILE gives one."),
        (.limitExceeded, "(spool limit)", "--spool-limit BYTES sets it."),
        (.limitExceeded, "the ratio limit", "--max-ratio RATIO sets it."),
        (.limitExceeded, "the memory limit", "--memory-limit BYTES sets it."),
        (.timedOut, "which is the idle limit", "--idle-timeout SECONDS sets it."),
        (.io, "exists, and is kept", "--overwrite replaces it."),
        (.permissionDenied, "There are no credentials", "--no-sign-request reads public objects without them."),
    ]

    /// This error with the option of the command that helps, if there is one.
    var namingOption: BlobError {
        var advice = Self.advice.first { $0.code == self.code && self.message.contains($0.part) }?.advice
        if self.code == .unsupported, self.message.contains("are read by a helper process") {
            let format = ArchiveFormat.isolated.first { self.message.contains("the format \($0.rawValue) ") }
            advice = "--allow-format \((format ?? .sevenzip).rawValue) does."
        }
        if self.code == .unavailable, self.message.hasPrefix("Media is"), self.message.contains("does not confine") {
            advice = "--allow-format media does."
        }
        return advice.map(self.adding) ?? self
    }

    /// Returns this error with a further sentence.
    func adding(_ sentence: String) -> BlobError { self.replacingMessage("\(self.message) \(sentence)") }
}
