public import BlobCore

extension AssetSource: BlobDescribing {
    /// Returns the facts of the picture or the film in the catalogue, without accessing the file.
    public func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        let media = try self.resolver.asset().media
        let number = { (value: Int?) in value.map { Int64($0) } }
        let degrees = { (value: Double?) in value.map { "\($0)" } }
        let facts: [(String, (any Encodable & Sendable)?)] = [
            ("width in pixels", number(media.pixelWidth)),
            ("height in pixels", number(media.pixelHeight)),
            ("orientation", number(media.orientation)), ("capture date", media.captureDate),
            ("capture offset", media.captureOffset), ("camera make", media.cameraMake),
            ("camera model", media.cameraModel), ("lens model", media.lensModel),
            ("latitude in degrees", degrees(media.latitude)), ("longitude in degrees", degrees(media.longitude)),
            ("city", media.city), ("country", media.country), ("duration in milliseconds", media.duration),
            ("codec", media.codec), ("live photo id", media.livePhotoID),
        ]
        return facts.compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}
