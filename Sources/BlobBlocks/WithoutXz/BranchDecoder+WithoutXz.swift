package import BlobCore

/// A decoder of a branch filter; this build has no liblzma.
package final class BranchDecoder {
    package static func isAvailable(_ filter: UInt64) -> Bool { false }

    package init(_ filter: UInt64, startOffset: UInt32) throws(BlobError) {
        throw BlobError(.unavailable, "This build has no liblzma.", isTransient: false)
    }

    package func decode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws(BlobError) -> [UInt8] { [] }
}
