import Foundation

// Imports URLSession for all files of this module, on platforms where it is not part of Foundation.
#if canImport(FoundationNetworking)
@_exported import FoundationNetworking
#endif
