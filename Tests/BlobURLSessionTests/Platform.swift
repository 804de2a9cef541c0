import Foundation

// What differs between the systems that the tests run on.
#if canImport(Darwin)
/// The longest body of a known length that is sent with it.
let announcedByteLimit = Int.max
#else
/// The longest body of a known length that is sent with it.
let announcedByteLimit = 64 * 1024
#endif
