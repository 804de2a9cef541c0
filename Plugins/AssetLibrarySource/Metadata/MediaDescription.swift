/// A description of an original, read from its headers; a property that the headers do not provide is nil.
public struct MediaDescription: Hashable, Sendable {
    /// The media type, by content: `image/jpeg`.
    public var mediaType: String?

    /// The uniform type identifier of Apple's systems: `public.jpeg`.
    public var typeIdentifier: String?

    /// The width in pixels, from 1, as stored: before ``orientation`` is applied.
    public var pixelWidth: Int?
    /// The height in pixels, from 1, as stored: before ``orientation`` is applied.
    public var pixelHeight: Int?

    /// The orientation of the picture, 1 to 8 (TIFF 6.0, tag 274).
    public var orientation: Int?

    /// The date and time of the picture, as the camera wrote it: `2024:05:01 12:30:59`, without a time zone (Exif,
    /// `DateTimeOriginal`).
    public var captureDate: String?
    /// The time zone of ``captureDate``: `+02:00` (Exif, `OffsetTimeOriginal`).
    public var captureOffset: String?
    /// The decimal places of the seconds of ``captureDate``, as digits (Exif, `SubSecTimeOriginal`).
    public var captureSubsecond: String?

    /// The manufacturer of the camera.
    public var cameraMake: String?
    /// The model of the camera.
    public var cameraModel: String?

    /// The model of the lens.
    package var lensModel: String?
    /// The place of the picture in degrees, -90 to 90 and -180 to 180 (WGS 84).
    package var latitude: Double?, longitude: Double?
    /// The city and the country of the picture, as its owner wrote them.
    package var city: String?, country: String?

    /// The duration of a film in milliseconds, from 1.
    package var duration: Int64?
    /// The codec of the first track of pictures of a film: `avc1`, `hvc1`.
    package var codec: String?
    /// The identifier that the picture and the film of a live photo share.
    package var livePhotoID: String?

    /// Creates an empty description.
    public init() {}

    /// The date and time of the picture in ISO 8601: `2024-05-01T12:30:59.042+02:00`; without a zone when none is known.
    public var captureTime: String? {
        guard let captureDate, Self.isDate(captureDate) else { return nil }
        let day = captureDate.prefix(10).replacing(":", with: "-")
        let digits = self.captureSubsecond.map { String($0.prefix { $0.isASCII && $0.isNumber }) } ?? ""
        let isZone = self.captureOffset?.wholeMatch(of: /[+-][0-9]{2}:[0-9]{2}/) != nil
        let zone = isZone ? self.captureOffset ?? "" : ""
        return "\(day)T\(captureDate.suffix(8))" + (digits.isEmpty ? "" : ".\(digits)") + zone
    }
}

extension MediaDescription {
    /// Reads the signature, and the headers of JPEG, PNG, GIF, TIFF, WebP, HEIC, AVIF, CR3, MP4 and QuickTime.
    ///
    /// A broken header leaves properties nil, and is not an error. Reads at most ``HeaderBytes/byteLimit`` bytes.
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
        case .webp: self.readWebP(bytes)
        case .cr3: self.readCR3(bytes)
        case .quickTime, .mpeg4: self.readFilm(bytes)
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
