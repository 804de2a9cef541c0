import Foundation

/// The times of a file, whose fields have different names on different platforms.
extension stat {
    var modification: FileTime {
        #if canImport(Darwin)
            FileTime(seconds: Int64(self.st_mtimespec.tv_sec), nanoseconds: Int64(self.st_mtimespec.tv_nsec))
        #else
            FileTime(seconds: Int64(self.st_mtim.tv_sec), nanoseconds: Int64(self.st_mtim.tv_nsec))
        #endif
    }

    var change: FileTime {
        #if canImport(Darwin)
            FileTime(seconds: Int64(self.st_ctimespec.tv_sec), nanoseconds: Int64(self.st_ctimespec.tv_nsec))
        #else
            FileTime(seconds: Int64(self.st_ctim.tv_sec), nanoseconds: Int64(self.st_ctim.tv_nsec))
        #endif
    }
}
