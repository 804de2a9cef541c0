// `Data` and `exit`, from the modules that declare them on this platform.

#if canImport(FoundationEssentials)
@_exported import FoundationEssentials
@_exported import Glibc
#else
@_exported import Foundation
#endif
