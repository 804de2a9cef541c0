import BlobCore
public import Foundation

/// A small picture.
public struct Thumbnail: Sendable {
    /// The side of the square that a thumbnail fits, in pixels.
    public enum Size: Int, CaseIterable, Sendable {
        /// 256 pixels.
        case small = 256
        /// 1024 pixels.
        case large = 1024
    }

    /// The place where a thumbnail was found.
    public enum Origin: Sendable {
        /// Made now.
        case made
        /// The cache of this library.
        case cache
    }

    /// A JPEG.
    public let bytes: Data
    /// The place where it was found.
    public let origin: Origin
}
