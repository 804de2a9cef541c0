extension String {
    /// Returns true when the text holds another one, byte by byte; a zero byte ends either.
    package func holds(_ text: String) -> Bool { strstr(self, text) != nil }
}
