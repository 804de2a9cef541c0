import BlobPlatform

#if canImport(Darwin)
    extension stat {
        /// The time of the last read or write of the file, as far as the file system records it.
        var lastUse: timespec { later(self.st_atimespec, self.st_mtimespec) }
    }
#else
    extension stat {
        /// The time of the last read or write of the file, as far as the file system records it.
        var lastUse: timespec { later(self.st_atim, self.st_mtim) }
    }
#endif

private func later(_ left: timespec, _ right: timespec) -> timespec {
    (left.tv_sec, left.tv_nsec) > (right.tv_sec, right.tv_nsec) ? left : right
}
