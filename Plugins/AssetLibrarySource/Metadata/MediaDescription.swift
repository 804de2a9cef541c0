#if Photos
import BlobCore
import BlobHelper
import Foundation
import HelperExchange

/// A description of an original, read from its headers; properties that the headers do not provide are nil.
public struct MediaDescription: Hashable, Sendable {
    /// The media type, by content: `image/jpeg`.
    public var mediaType: String?

    /// The uniform type identifier of Apple's systems: `public.jpeg`.
    public var typeIdentifier: String?

    /// The width in pixels, at least 1, as stored: before ``orientation`` is applied.
    public var pixelWidth: Int?
    /// The height in pixels, at least 1, as stored: before ``orientation`` is applied.
    public var pixelHeight: Int?

    /// The orientation of the picture, 1 to 8 (TIFF 6.0, tag 274).
    public var orientation: Int?

    /// The date and time of the picture, as written by the camera: `2024:05:01 12:30:59`, without a time zone (Exif,
    /// `DateTimeOriginal`).
    public var captureDate: String?
    /// The time zone of ``captureDate``: `+02:00` (Exif, `OffsetTimeOriginal`).
    public var captureOffset: String?
    /// The fractional digits of the seconds in ``captureDate`` (Exif, `SubSecTimeOriginal`).
    public var captureSubsecond: String?

    /// The manufacturer of the camera.
    public var cameraMake: String?
    /// The model of the camera.
    public var cameraModel: String?

    /// The model of the lens.
    package var lensModel: String?
    /// The latitude and the longitude of the picture in degrees, -90 to 90 and -180 to 180 (WGS 84).
    package var latitude: Double?, longitude: Double?
    /// The city and the country of the picture, as written by its owner.
    package var city: String?, country: String?

    /// The duration of a video in milliseconds, at least 1.
    package var duration: Int64?
    /// The codec of the first video track: `avc1`, `hvc1`.
    package var codec: String?
    /// The identifier that the photo and the video of a Live Photo share.
    package var livePhotoID: String?

    /// Creates an empty description.
    public init() {}

    /// The date and time of the picture in ISO 8601: `2024-05-01T12:30:59.042+02:00`; without a time zone if unknown.
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
    private static let formats = Dictionary(
        uniqueKeysWithValues: MediaFormat.allCases.map { ($0.fileExtension, $0) }
            + [("jpeg", .jpeg), ("tiff", .tiff), ("heif", .heic), ("m4v", .mpeg4)])

    /// Creates a description with the type for a file name's extension, if the extension is known.
    init(fileName: String) {
        self.init()
        let format = LibraryFolder.fileExtension(ofName: fileName).flatMap { Self.formats[$0.lowercased()] }
        (self.mediaType, self.typeIdentifier) = (format?.mediaType, format?.typeIdentifier)
    }

    /// Returns true for a date in the form `YYYY:MM:DD HH:MM:SS`, and false for the blanks or zeros that cameras
    /// without a clock write (Exif 2.32, section 4.6.5).
    static func isDate(_ text: String) -> Bool {
        let form = "0000:00:00 00:00:00".utf8
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return text.utf8.count == form.count && !text.hasPrefix("0000")
            && zip(text.utf8, form).allSatisfy { $1 == UInt8(ascii: "0") ? digits.contains($0) : $0 == $1 }
    }

    /// Formats seconds since 1970 as an Exif date, in UTC or in the time zone of this machine; nil for a time outside
    /// the calendar.
    static func text(ofTime seconds: Int64, inUTC: Bool) -> String? {
        var (time, parts) = (time_t(seconds), tm())
        let isKnown = (inUTC ? gmtime_r(&time, &parts) : localtime_r(&time, &parts)) != nil
        guard isKnown, (-1900...8099).contains(parts.tm_year) else { return nil }
        return String(
            format: "%04d:%02d:%02d %02d:%02d:%02d", Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1,
            Int(parts.tm_mday), Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
    }

    // MARK: Headers

    /// Reads the signature of a file and the facts in its headers.
    ///
    /// These are the size and the orientation for JPEG, PNG, GIF, TIFF, WebP, HEIC, AVIF and CR3, and also the facts in
    /// the boxes of MP4 and QuickTime.
    ///
    /// A malformed header is not an error, but leaves properties nil. Reads at most ``HeaderBytes/byteLimit`` bytes.
    init(_ bytes: HeaderBytes) {
        guard let format = MediaFormat(signature: bytes.prefix(MediaFormat.signatureByteCount)) else { return }
        self.mediaType = format.mediaType
        self.typeIdentifier = format.typeIdentifier
        switch format {
        case .jpeg: self.readJPEG(bytes)
        // The first chunk (PNG, third edition, section 11.2.1), and the logical screen (GIF89a, section 18).
        case .png: self.readSize(bytes, at: 16, byteCount: 4)
        case .gif: self.readSize(bytes, at: 6, byteCount: 2, isBigEndian: false)
        case .tiff: self.readTIFF(bytes, in: 0..<bytes.byteCount)
        case .heic, .avif: self.readHEIF(bytes)
        case .webp: self.readWebP(bytes)
        case .cr3: self.readCR3(bytes)
        case .quickTime, .mpeg4: self.readFilm(bytes)
        case .bmp, .pdf: break
        }
    }

    mutating func setSize(_ width: some BinaryInteger, _ height: some BinaryInteger) {
        guard width > 0, height > 0, let width = Int32(exactly: width), let height = Int32(exactly: height) else {
            return
        }
        self.pixelWidth = Int(width)
        self.pixelHeight = Int(height)
    }

    private mutating func readSize(
        _ bytes: HeaderBytes, at offset: Int64, byteCount: Int, isBigEndian: Bool = true
    ) {
        guard var size = bytes.bytes(at: offset, count: 2 * byteCount).map(ByteCursor.init),
            let width = size.number(byteCount, isBigEndian: isBigEndian),
            let height = size.number(byteCount, isBigEndian: isBigEndian)
        else { return }
        self.setSize(width, height)
    }

    /// Reads the segments before the first scan: the frame header, and the orientation in the Exif data of APP1.
    private mutating func readJPEG(_ bytes: HeaderBytes) {
        for (marker, content) in JPEGSegments(bytes) {
            switch marker {
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker) && content.count >= 6:
                guard let frame = bytes.bytes(at: content.lowerBound + 1, count: 4) else { return }
                self.setSize(
                    UInt32(frame[2]) << 8 | UInt32(frame[3]), UInt32(frame[0]) << 8 | UInt32(frame[1]))
            case 0xE1 where self.orientation == nil && content.count >= 6:
                guard bytes.bytes(at: content.lowerBound, count: 6) == Array("Exif\0\0".utf8) else { break }
                self.orientation = TIFFDirectory(bytes, in: (content.lowerBound + 6)..<content.upperBound)?.orientation
            default: break
            }
        }
    }

    /// Reads the size in the first chunk (RFC 9649, sections 2.5 to 2.7).
    private mutating func readWebP(_ bytes: HeaderBytes) {
        guard let chunk = bytes.bytes(at: 12, count: 18) else { return }
        var cursor = ByteCursor(chunk[8...])
        switch String(decoding: chunk[..<4], as: UTF8.self) {
        case "VP8X":
            guard cursor.take(4) != nil, let width = cursor.number(3, isBigEndian: false),
                let height = cursor.number(3, isBigEndian: false)
            else { return }
            self.setSize(width + 1, height + 1)
        case "VP8 ":
            guard cursor.take(6) != nil, let width = cursor.number(2, isBigEndian: false),
                let height = cursor.number(2, isBigEndian: false)
            else { return }
            self.setSize(width & 0x3FFF, height & 0x3FFF)
        case "VP8L":
            guard cursor.number(1) == 0x2F, let sizes = cursor.number(4, isBigEndian: false) else { return }
            self.setSize(sizes & 0x3FFF + 1, sizes >> 14 & 0x3FFF + 1)
        default: break
        }
    }

    /// Reads the first directory of a TIFF, or of a format with its structure.
    private mutating func readTIFF(_ bytes: HeaderBytes, in range: Range<Int64>) {
        guard let tiff = TIFFDirectory(bytes, in: range.clamped(to: 0..<bytes.byteCount)) else { return }
        if let width = tiff.number(0x0100), let height = tiff.number(0x0101) { self.setSize(width, height) }
        if self.mediaType == MediaFormat.tiff.mediaType, let raw = tiff.rawType {
            (self.mediaType, self.typeIdentifier) = raw
        }
        self.orientation = tiff.orientation
    }

    /// Reads the first TIFF in the boxes of a Canon Raw 3: `moov`, then a `uuid` box of Canon, then `CMT1`.
    private mutating func readCR3(_ bytes: HeaderBytes) {
        guard let movie = bytes.box("moov"), let own = bytes.box("uuid", in: movie), own.count > 16,
            let tiff = bytes.box("CMT1", in: (own.lowerBound + 16)..<own.upperBound)
        else { return }
        self.readTIFF(bytes, in: tiff)
    }

    // MARK: Facts of a helper

    /// Adds the facts that a helper has read.
    mutating func add(_ facts: MediaFacts) {
        func text(_ fact: MediaFact) -> String? {
            facts.texts[fact].flatMap { String(validating: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        (self.cameraMake, self.cameraModel, self.lensModel) = (text(.make), text(.model), text(.lens))
        (self.city, self.country) = (text(.city), text(.country))
        // Readers rotate a HEIF according to its properties, which the Exif orientation only repeats.
        if !self.isHEIF, let number = text(.orientation).flatMap(Int.init), (1...8).contains(number) {
            self.orientation = number
        }
        if let date = text(.captureDate) { self.setCaptureDate(date) }
        // A date from XMP already contains the time zone and the fraction.
        self.captureOffset = text(.captureOffset) ?? self.captureOffset
        self.captureSubsecond = text(.captureSubsecond) ?? self.captureSubsecond
        self.setPlace(
            latitude: text(.latitude).flatMap(Double.init), longitude: text(.longitude).flatMap(Double.init))
        // Apple's maker note contains the content identifier of a Live Photo.
        let note = facts.texts[.appleNote].flatMap { TIFFDirectory(appleNote: HeaderBytes($0)) }
        self.livePhotoID = note?.text(0x0011).flatMap(Self.identifier)
    }

    private var isHEIF: Bool { self.mediaType == "image/heic" || self.mediaType == "image/avif" }

    /// Sets the location if it is valid; cameras without a position write 0, 0.
    mutating func setPlace(latitude: Double?, longitude: Double?) {
        guard let latitude, let longitude, (-90...90).contains(latitude), (-180...180).contains(longitude),
            latitude != 0 || longitude != 0
        else { return }
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// Sets the date from text in the format of Exif, `2024:05:01 12:30:59`, or of XMP and QuickTime,
    /// `2024-05-01T12:30:59.042+0200`.
    mutating func setCaptureDate(_ text: String) {
        var letters = Array(text.utf8.prefix(19))
        guard letters.count == 19 else { return }
        if letters[10] == UInt8(ascii: "T") {
            (letters[4], letters[7], letters[10]) = (UInt8(ascii: ":"), UInt8(ascii: ":"), UInt8(ascii: " "))
        }
        let date = String(decoding: letters, as: UTF8.self)
        guard Self.isDate(date) else { return }
        self.captureDate = date
        var rest = text.utf8.dropFirst(19)
        let isDigit = { (letter: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(letter) }
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix(while: isDigit)
            self.captureSubsecond = digits.isEmpty ? nil : String(Substring(digits))
            rest = rest.dropFirst(1 + digits.count)
        }
        let zone = rest.filter(isDigit).map { String(Unicode.Scalar($0)) }
        guard let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), zone.count == 4 else {
            return
        }
        self.captureOffset = "\(Unicode.Scalar(sign))\(zone[0])\(zone[1]):\(zone[2])\(zone[3])"
    }

    /// Returns the content identifier of a Live Photo, in practice a UUID; nil if the text is not an identifier.
    static func identifier(_ text: String) -> String? {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
    }
}

extension MediaDescription {
    /// Reads the size and the orientation of the primary picture, which readers crop, rotate and mirror in the order of
    /// its properties.
    mutating func readHEIF(_ bytes: HeaderBytes) {
        var turn: PictureOrientation?
        for (type, content) in HEIFBoxes(bytes)?.properties ?? [] {
            var cursor = content
            switch type {
            case "ispe":
                guard cursor.take(4) != nil, let width = cursor.number(4), let height = cursor.number(4) else { break }
                self.setSize(width, height)
            case "clap":
                let numbers = (0..<4).compactMap { _ in cursor.number(4).map { Double($0) } }
                guard numbers.count == 4, numbers[1] > 0, numbers[3] > 0, let width = self.pixelWidth,
                    let height = self.pixelHeight
                else { break }
                // The stored size is the size before any rotation; this crop applies to the picture as rotated so far.
                let turn = turn ?? .identity
                let size = turn.applied(to: PictureSize(width: width, height: height))
                let cut = turn.applied(
                    to: PictureSize(
                        width: Int(min(Double(size.width), (numbers[0] / numbers[1]).rounded())),
                        height: Int(min(Double(size.height), (numbers[2] / numbers[3]).rounded()))))
                self.setSize(cut.width, cut.height)
            case "irot", "imir":
                guard let value = cursor.number(1) else { break }
                // A mirror swaps top and bottom for axis 0, and left and right for axis 1.
                let number = type == "irot" ? [1, 8, 3, 6][Int(value & 3)] : value & 1 == 0 ? 4 : 2
                turn = (turn ?? .identity).followed(by: PictureOrientation(number) ?? .identity)
            default: break
            }
        }
        self.orientation = turn?.number
    }
}
#endif
