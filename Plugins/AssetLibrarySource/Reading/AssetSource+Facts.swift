public import BlobCore

extension AssetSource: BlobDescribing {
    /// Returns the facts of the picture or the film in the catalogue, or of a file that is none of ours, if there is a
    /// helper; of an adjusted picture, also the length and the digest of its original.
    ///
    /// - Throws: As ``describe(_:)``. Renders nothing.
    public func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        var media: MediaDescription
        let original: Asset?
        switch try self.content(context) {
        case .file(let asset, let resolver, let shown):
            (media, original) = (try resolver.store.media(of: asset, context), shown)
        case .rendering(let rendering):
            (media, original) = (try self.store().media(of: rendering.asset, context), rendering.asset)
            let size = try rendering.plan().plan.size
            (media.pixelWidth, media.pixelHeight, media.orientation) = (size.width, size.height, 1)
        }
        let number = { (value: Int?) in value.map { Int64($0) } }
        let degrees = { (value: Double?) in value.map { "\($0)" } }
        let facts: [(String, (any Encodable & Sendable)?)] = [
            ("width in pixels", number(media.pixelWidth)),
            ("height in pixels", number(media.pixelHeight)),
            ("orientation", number(media.orientation)), ("capture date", media.captureTime),
            ("camera make", media.cameraMake),
            ("camera model", media.cameraModel), ("lens model", media.lensModel),
            ("latitude in degrees", degrees(media.latitude)), ("longitude in degrees", degrees(media.longitude)),
            ("city", media.city), ("country", media.country), ("duration in milliseconds", media.duration),
            ("codec", media.codec), ("live photo id", media.livePhotoID),
            ("adjusted", original.map { _ in true }), ("original bytes", original?.byteCount),
            ("original media type", original?.media.mediaType), ("original sha256", original?.sha256.hexadecimal),
        ]
        return facts.compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}
