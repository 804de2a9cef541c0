import CCurl

extension ResponseHead {
    /// The time of the answer by the clock of the server, in seconds since 1970; nil when it tells none.
    package var date: Int64? {
        guard let text = self.value(of: "date"), case let seconds = Int64(blob_curl_date(text)), seconds >= 0 else {
            return nil
        }
        return seconds
    }
}
