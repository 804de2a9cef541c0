// `Data` and `exit`, by the names that their modules have on this platform.

#if canImport(FoundationEssentials)
@_exported import FoundationEssentials
@_exported import Glibc
#else
@_exported import Foundation
#endif
