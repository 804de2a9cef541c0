import BlobPlatform

/// The commands of fcntl(2) for locks that belong to an open file description, and that closing another descriptor of
/// the file does not release. Not declared in Swift's module of the C library.
enum DescriptionLock {
    #if canImport(Darwin)
        static let set: CInt = 90
        static let get: CInt = 92
    #else
        static let set: CInt = 37
        static let get: CInt = 36
    #endif
}
