import BlobCore
package import Foundation

/// A small picture.
package struct Thumbnail: Sendable {
    /// The side of the square that a thumbnail fits, in pixels.
    package enum Size: Int, CaseIterable, Sendable {
        case small = 256
        case large = 1024
    }

    /// The place where a thumbnail was found.
    package enum Origin: Sendable {
        /// Made now.
        case made
        /// The cache of this library.
        case cache
        /// The cache of the desktop, which has PNG (freedesktop.org, Thumbnail Managing Standard).
        case desktop
    }

    /// A JPEG, or a PNG from the desktop's cache.
    package let bytes: Data
    package let origin: Origin
}
