extension MediaDescription {
    private static let formats = Dictionary(
        uniqueKeysWithValues: MediaFormat.allCases.map { ($0.fileExtension, $0) }
            + [("jpeg", .jpeg), ("tiff", .tiff), ("heif", .heic), ("m4v", .mpeg4)])

    /// Creates a description of the type that the extension of a name stands for, if it is one that is known.
    init(fileName: String) {
        self.init()
        let format = Asset.fileExtension(ofName: fileName).flatMap { Self.formats[$0.lowercased()] }
        (self.mediaType, self.typeIdentifier) = (format?.mediaType, format?.typeIdentifier)
    }
}
