import Foundation

#if canImport(Darwin)
extension stat {
    var lastUse: timespec { self.st_atimespec }
    var lastModification: timespec { self.st_mtimespec }
}
#else
extension stat {
    var lastUse: timespec { self.st_atim }
    var lastModification: timespec { self.st_mtim }
}
#endif
