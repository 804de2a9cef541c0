extension String {
    /// Returns true when the text holds another one, byte by byte; a zero byte ends either.
    ///
    /// The standard library's search brings its regular expressions along: a megabyte of a static executable.
    package func holds(_ text: String) -> Bool { strstr(self, text) != nil }
}
