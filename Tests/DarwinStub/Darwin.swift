// A stub of the module of Darwin's C library: Linux's C library and the declarations that differ. `make darwin-check`
// type-checks the package's code for Darwin against it; nothing is linked.
@_exported public import CDarwinStub
@_exported public import Glibc

extension stat {
    /// `st_mtim` of Linux.
    public var st_mtimespec: timespec { self.st_mtim }
    /// `st_ctim` of Linux.
    public var st_ctimespec: timespec { self.st_ctim }
    /// `st_atim` of Linux.
    public var st_atimespec: timespec { self.st_atim }
}

/// A number, and no case of an enumeration.
public let RLIMIT_NOFILE: CInt = 8
/// Takes a number.
public func getrlimit(_ resource: CInt, _ limit: UnsafeMutablePointer<rlimit>) -> CInt { -1 }
/// Takes a number.
public func setrlimit(_ resource: CInt, _ limit: UnsafePointer<rlimit>) -> CInt { -1 }

/// A thread is a pointer.
public func pthread_create(
    _ thread: UnsafeMutablePointer<pthread_t?>, _ attributes: UnsafePointer<pthread_attr_t>?,
    _ start: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?, _ argument: UnsafeMutableRawPointer?
) -> CInt { -1 }
