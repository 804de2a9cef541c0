internal import CPlatform

extension stat {
    /// The time of the last modification, in nanoseconds since 1970; the field's name depends on the platform.
    package var modificationNanoseconds: Int64 {
        #if canImport(Darwin)
        let time = self.st_mtimespec
        #else
        let time = self.st_mtim
        #endif
        return nanoseconds(time)
    }

    /// The time of the last change of the file or its status, in nanoseconds since 1970.
    package var statusChangeNanoseconds: Int64 {
        #if canImport(Darwin)
        nanoseconds(self.st_ctimespec)
        #else
        nanoseconds(self.st_ctim)
        #endif
    }

    /// The time of the last read, in nanoseconds since 1970, if the file system records it.
    package var accessNanoseconds: Int64 {
        #if canImport(Darwin)
        nanoseconds(self.st_atimespec)
        #else
        nanoseconds(self.st_atim)
        #endif
    }
}

private func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }

/// Creates an unnamed file in a folder, for writing: it is deleted when its last descriptor is closed.
///
/// - Returns: Its descriptor; -1, with the reason in `errno`, if the system or the file system does not support such
///   files.
package func openUnnamedFile(in folder: CInt, _ path: String, permissions: UInt32) -> CInt {
    blob_open_unnamed(folder, path, permissions)
}

/// Gives a file created by ``openUnnamedFile(in:_:permissions:)`` its name; returns false, with the reason in `errno`,
/// on failure.
package func nameUnnamedFile(_ descriptor: CInt, in folder: CInt, _ name: String) -> Bool {
    blob_name_unnamed(descriptor, folder, name) == 0
}

extension [UInt8] {
    /// The bytes of a path without a zero byte, for system calls.
    package var cString: [CChar] { self.map { CChar(bitPattern: $0) } + [0] }
}

extension String {
    /// Returns true if the text contains another text, compared byte by byte. Each text ends at its first zero byte.
    package func containsText(_ text: String) -> Bool { strstr(self, text) != nil }
}
