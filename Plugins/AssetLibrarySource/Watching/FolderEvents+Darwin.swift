#if !os(Linux)
    /// The events of the files in a folder, which on this platform are not available: changes are found by polling.
    final class FolderEvents: Sendable {
        let descriptor: CInt = -1
        init?(_ folder: String) { nil }
        func drain() {}
    }
#endif
