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
}

private func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
