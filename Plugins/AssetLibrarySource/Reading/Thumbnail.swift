#if Photos
public import BlobCore
import BlobHelper
import BlobIndex
public import Foundation
import HelperExchange

/// A small version of a picture.
public struct Thumbnail: Sendable {
    /// The side, in pixels, of the square in which a thumbnail fits.
    public enum Size: Int, CaseIterable, Sendable {
        /// 256 pixels.
        case small = 256
        /// 1024 pixels.
        case large = 1024
    }

    /// The origin of a thumbnail.
    public enum Origin: Sendable {
        /// The thumbnail was made by this call.
        case generated
        /// The thumbnail was found in the cache.
        case cache
    }

    /// The picture, as JPEG.
    public let bytes: Data
    /// The origin of the picture.
    public let origin: Origin
}

extension AssetLibrary {
    /// The maximum length, in bytes, of a file that is accepted as a thumbnail.
    static let maximumThumbnailByteCount = Int64(MediaProcess.maximumThumbnailByteCount)

    /// Returns a small version of an asset's original: upright, in sRGB, without metadata.
    ///
    /// The thumbnail is read from the user's cache folder, where its key is the digest of the original. If it is not
    /// found, a helper makes it while the original is verified, and it is cached.
    ///
    /// - Parameters:
    ///   - id: The identifier of the asset.
    ///   - size: The size of the thumbnail.
    ///   - helper: The path of the helper; nil to search for it.
    ///   - context: The context of the job.
    /// - Throws: ``BlobError/Code/notFound`` if the asset or its original is missing, ``BlobError/Code/unsupported`` if
    ///   the original is not a picture, ``BlobError/Code/checksumMismatch`` if it is damaged,
    ///   ``BlobError/Code/unavailable`` if the helper is not found; errors making the thumbnail.
    public func thumbnail(
        of id: UUID, _ size: Thumbnail.Size, helper: String? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> Thumbnail {
        try AssetResolver(library: self, id: id).thumbnail(size, helper: helper, context)
    }
}

extension AssetCatalogue {
    /// Returns a small version of an asset's file; see ``AssetLibrary/thumbnail(of:_:helper:context:)``.
    public func thumbnail(
        of id: String, _ size: Thumbnail.Size, helper: String? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> Thumbnail {
        try AssetResolver(backend: self.backend, id: id).thumbnail(size, helper: helper, context)
    }
}

extension AssetResolver {
    /// The maximum size of the thumbnail cache, in bytes, which holds some ten thousand small thumbnails.
    private static let thumbnailCacheByteCount: Int64 = 512 << 20
    /// The version in the file names, so that a change in how thumbnails are made invalidates older thumbnails.
    private static let thumbnailVersion = 2

    fileprivate func thumbnail(
        _ size: Thumbnail.Size, helper: String?, _ context: BlobContext
    ) throws(BlobError) -> Thumbnail {
        let asset = try self.asset(context)
        let name = "\(asset.sha256.hexadecimal)-\(size.rawValue)-\(Self.thumbnailVersion).jpg"
        let cache = CachedFiles(
            in: "blob-thumbnails", fileExtension: "jpg", maximumByteCount: Self.thumbnailCacheByteCount)
        if let bytes = try cache?.content(of: name, atMost: AssetLibrary.maximumThumbnailByteCount),
            bytes.starts(with: [0xFF, 0xD8])
        {
            return Thumbnail(bytes: Data(bytes), origin: .cache)
        }
        let file = try self.file(of: asset)
        guard asset.media.mediaType?.hasPrefix("image/") == true else {
            throw BlobError(.unsupported, "Only pictures have thumbnails.", locator: asset.locator.text)
        }
        let bytes = try self.makeThumbnail(of: file, asset, size, helper: helper, context)
        guard try file.status().hasContent(of: file.snapshot) else {
            throw BlobError(
                .changed, "The original was modified while it was being decoded.", locator: asset.locator.text)
        }
        // A failure to write to the cache must not prevent returning the picture.
        bytes.withUnsafeBytes { bytes in try? cache?.store(bytes, as: name) }
        return Thumbnail(bytes: bytes, origin: .generated)
    }

    private func makeThumbnail(
        of file: OriginalFile, _ asset: Asset, _ size: Thumbnail.Size, helper: String?, _ context: BlobContext
    ) throws(BlobError) -> Data {
        var isVerified = false
        let verify = { () throws(BlobError) in
            if !isVerified { try self.verify(file, asset, context) }
            isVerified = true
        }
        if asset.media.mediaType == "image/jpeg" {
            do throws(BlobError) {
                let process = try MediaProcess(for: .smallJPEGs, at: helper, context)
                let bytes = try process.thumbnail(
                    of: file.descriptor, size: size.rawValue, orientation: asset.media.orientation ?? 1,
                    meanwhile: verify)
                if let bytes { return Data(bytes) }
            } catch {
                // libvips may still be able to decode the picture, and is also used if libturbojpeg is missing.
                guard error.code == .unavailable || error.code == .corrupted else { throw error }
            }
        }
        let process = try MediaProcess(for: .pictures, at: helper, context)
        guard let bytes = try process.thumbnail(of: file.descriptor, size: size.rawValue, meanwhile: verify) else {
            throw BlobError(.internalError, "The helper did not create a thumbnail.", locator: asset.locator.text)
        }
        return Data(bytes)
    }

    /// Compares the digest of an original with the digest stored for its asset.
    private func verify(_ file: OriginalFile, _ asset: Asset, _ context: BlobContext) throws(BlobError) {
        let (sha256, _) = try file.digests(byteCount: file.snapshot.byteCount, context)
        guard sha256 != asset.sha256 else { return }
        throw BlobError(
            .checksumMismatch, "The original differs from the imported content: its SHA-256 is \(sha256.hexadecimal).",
            locator: asset.locator.text)
    }
}
#endif
