/// What the bytes of an original say of themselves; what they do not say is nil.
public struct MediaDescription: Hashable, Sendable {
    /// The media type, by content: `image/jpeg`.
    public var mediaType: String?

    /// The uniform type identifier of Apple's systems: `public.jpeg`.
    public var typeIdentifier: String?

    /// The size in pixels, from 1, as stored: before ``orientation`` is applied.
    public var pixelWidth: Int?
    /// The size in pixels, from 1, as stored: before ``orientation`` is applied.
    public var pixelHeight: Int?

    /// How the picture is to be turned, 1 to 8 (TIFF 6.0, tag 274).
    public var orientation: Int?

    /// When the picture was taken, as the camera wrote it: `2024:05:01 12:30:59` in an unnamed time zone (Exif,
    /// `DateTimeOriginal`).
    public var captureDate: String?
    /// The time zone of ``captureDate``: `+02:00` (Exif, `OffsetTimeOriginal`).
    public var captureOffset: String?
    /// Decimal digits of the second of ``captureDate`` (Exif, `SubSecTimeOriginal`).
    public var captureSubsecond: String?

    /// Who made the camera.
    public var cameraMake: String?
    /// What the camera is called.
    public var cameraModel: String?

    /// Knows nothing.
    public init() {}
}

extension MediaDescription {
    /// Looks at the signature and at the headers of the formats that are known: JPEG, PNG, GIF, TIFF, HEIC and AVIF.
    ///
    /// A broken header leaves fields nil, and never fails. Reads at most ``HeaderBytes/byteLimit`` bytes.
    init(_ bytes: HeaderBytes) {
        guard let format = MediaFormat(signature: bytes.prefix(MediaFormat.signatureByteCount)) else { return }
        self.mediaType = format.mediaType
        self.typeIdentifier = format.typeIdentifier
        switch format {
        case .jpeg: self.readJPEG(bytes)
        case .png: self.readPNG(bytes)
        case .gif: self.readGIF(bytes)
        case .tiff: self.readTIFF(bytes, in: 0..<bytes.byteCount, hasSize: true)
        case .heic, .avif: self.readHEIF(bytes)
        default: break
        }
    }

    mutating func setSize(_ width: some BinaryInteger, _ height: some BinaryInteger) {
        guard width > 0, height > 0, let width = Int32(exactly: width), let height = Int32(exactly: height) else {
            return
        }
        self.pixelWidth = Int(width)
        self.pixelHeight = Int(height)
    }
}
