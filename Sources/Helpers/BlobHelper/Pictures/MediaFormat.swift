/// A format that is recognised by its first bytes.
package enum MediaFormat: CaseIterable {
    case jpeg, png, gif, tiff, webp, bmp, heic, avif, cr3, quickTime, mpeg4, pdf

    /// The number of bytes that ``init(signature:)`` examines; the brands of an ISO base media file need the most.
    package static let signatureByteCount = 64

    package init?(signature bytes: [UInt8]) {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) {
            self = .gif
        } else if bytes.starts(with: [0x49, 0x49, 0x2A, 0x00]) || bytes.starts(with: [0x4D, 0x4D, 0x00, 0x2A]) {
            self = .tiff
        } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
            self = .webp
        } else if bytes.starts(with: "%PDF-".utf8) {
            self = .pdf
        } else if bytes.starts(with: "BM".utf8), bytes.dropFirst(6).starts(with: [0, 0, 0, 0]) {
            self = .bmp
        } else if let format = Self(brandsOf: bytes) {
            self = format
        } else {
            return nil
        }
    }

    /// Recognises the first known brand in an `ftyp` box (ISO/IEC 14496-12, section 4.3).
    private init?(brandsOf bytes: [UInt8]) {
        guard bytes.count >= 12, bytes[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        let size = min(Int(bytes[2]) << 8 | Int(bytes[3]), bytes.count)
        // The minor version lies between the major brand and the compatible brands.
        let offsets = [8] + stride(from: 16, to: max(16, size - 3), by: 4)
        for offset in offsets where offset + 4 <= bytes.count {
            switch String(decoding: bytes[offset..<(offset + 4)], as: UTF8.self) {
            case "heic", "heix", "heim", "heis", "hevc", "hevx": self = .heic
            case "avif", "avis": self = .avif
            case "crx ": self = .cr3
            case "qt  ": self = .quickTime
            case "isom", "iso2", "mp41", "mp42", "M4V ", "avc1", "mp4v": self = .mpeg4
            default: continue
            }
            return
        }
        return nil
    }

    package var mediaType: String { self.row.mediaType }
    package var typeIdentifier: String { self.row.typeIdentifier }
    /// The file name extension, in lower case and without the dot.
    package var fileExtension: String { self.row.fileExtension }
    /// True for formats with Exif, XMP or IPTC.
    package var hasFacts: Bool { self.row.hasFacts }

    private var row: (mediaType: String, typeIdentifier: String, fileExtension: String, hasFacts: Bool) {
        switch self {
        case .jpeg: ("image/jpeg", "public.jpeg", "jpg", true)
        case .png: ("image/png", "public.png", "png", true)
        case .gif: ("image/gif", "com.compuserve.gif", "gif", false)
        case .tiff: ("image/tiff", "public.tiff", "tif", true)
        case .webp: ("image/webp", "org.webmproject.webp", "webp", true)
        case .bmp: ("image/bmp", "com.microsoft.bmp", "bmp", false)
        case .heic: ("image/heic", "public.heic", "heic", true)
        case .avif: ("image/avif", "public.avif", "avif", true)
        case .cr3: ("image/x-canon-cr3", "com.canon.cr3-raw-image", "cr3", true)
        case .quickTime: ("video/quicktime", "com.apple.quicktime-movie", "mov", false)
        case .mpeg4: ("video/mp4", "public.mpeg-4", "mp4", false)
        case .pdf: ("application/pdf", "com.adobe.pdf", "pdf", false)
        }
    }
}
