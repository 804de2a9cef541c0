import Foundation

// Imports URLSession where it is not part of Foundation, for all files of this module.
#if canImport(FoundationNetworking)
@_exported import FoundationNetworking
#endif
