extension [UInt8] {
    /// Calls `body` with a path of these bytes, for the C library: it need not be UTF-8.
    package func withPath<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
        try (self.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { characters in
            guard let path = characters.baseAddress else { preconditionFailure("A path has its zero byte.") }
            return try body(path)
        }
    }
}
