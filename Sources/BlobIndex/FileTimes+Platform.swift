import Foundation

#if canImport(Darwin)
    extension stat {
        /// When the file was last read or written, as far as the file system keeps track.
        var lastUse: timespec { later(self.st_atimespec, self.st_mtimespec) }
    }
#else
    extension stat {
        /// When the file was last read or written, as far as the file system keeps track.
        var lastUse: timespec { later(self.st_atim, self.st_mtim) }
    }
#endif

private func later(_ left: timespec, _ right: timespec) -> timespec {
    (left.tv_sec, left.tv_nsec) > (right.tv_sec, right.tv_nsec) ? left : right
}
