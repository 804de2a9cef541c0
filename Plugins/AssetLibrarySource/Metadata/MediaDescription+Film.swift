#if Photos
import BlobHelper

extension MediaDescription {
    /// Reads the `moov` box of an MP4 or a QuickTime video: duration, size, codec, location and content identifier.
    ///
    /// The boxes are parsed here, because existing libraries have no interface that is stable across versions
    /// (libavformat), or decode more than is needed, while these boxes have not changed since 2001.
    mutating func readFilm(_ bytes: HeaderBytes) {
        for box in FileBoxes(bytes, in: bytes.box("moov") ?? 0..<0) {
            switch box.type {
            case "mvhd": self.readMovieHeader(bytes.cursor(box.content, limit: Self.headerByteLimit))
            case "trak": self.readTrack(box.content, bytes)
            case "meta": self.readKeys(box.content, bytes)
            case "udta": self.readUserData(box.content, bytes)
            default: break
            }
        }
    }

    /// The maximum number of bytes to read from a header; all headers are far shorter.
    private static let headerByteLimit = 256
    /// The maximum length of a text, in bytes.
    private static let textByteLimit = 256
    /// The maximum number of keys to read.
    private static let maximumKeyCount = 256

    private mutating func readMovieHeader(_ header: ByteCursor?) {
        guard var cursor = header, let version = cursor.number(4) else { return }
        let size = version >> 24 == 1 ? 8 : 4
        guard cursor.take(2 * size) != nil, let scale = cursor.number(4), let duration = cursor.number(size), scale > 0,
            duration > 0, duration < 1 << 48
        else { return }
        self.duration = Int64((Double(duration) * 1000 / Double(scale)).rounded())
    }

    /// Reads a track; size, orientation and codec come from the first video track.
    private mutating func readTrack(_ track: Range<Int64>, _ bytes: HeaderBytes) {
        guard self.codec == nil, let media = bytes.box("mdia", in: track),
            var handler = bytes.cursor(bytes.box("hdlr", in: media), limit: 12), handler.take(8) != nil,
            handler.rest.elementsEqual("vide".utf8)
        else { return }
        // The type of the first sample description: four printable characters.
        let table = bytes.box("minf", in: media).flatMap { bytes.box("stbl", in: $0) }
        let descriptions = table.flatMap { bytes.cursor(bytes.box("stsd", in: $0), limit: 16) }
        if let codec = descriptions?.rest.dropFirst(12), codec.count == 4,
            codec.allSatisfy({ (0x20...0x7E).contains($0) })
        {
            self.codec = String(decoding: codec, as: UTF8.self)
        }
        guard var cursor = bytes.cursor(bytes.box("tkhd", in: track), limit: Self.headerByteLimit),
            let version = cursor.number(4), cursor.take((version >> 24 == 1 ? 32 : 20) + 16) != nil
        else { return }
        let matrix = (0..<9).compactMap { _ in cursor.number(4) }
        // 16.16 fixed-point numbers.
        guard let width = cursor.number(4), let height = cursor.number(4) else { return }
        self.setSize(width >> 16, height >> 16)
        let (one, minus) = (UInt64(0x1_0000), UInt64(0xFFFF_0000))
        switch (matrix[0], matrix[1], matrix[3], matrix[4]) {
        case (one, 0, 0, one): self.orientation = 1
        case (0, one, minus, 0): self.orientation = 6
        case (minus, 0, 0, minus): self.orientation = 3
        case (0, minus, one, 0): self.orientation = 8
        default: break
        }
    }

    /// Reads the metadata of QuickTime (QuickTime File Format, "Metadata"): keys, and items identified by the numbers
    /// of the keys.
    private mutating func readKeys(_ box: Range<Int64>, _ bytes: HeaderBytes) {
        // In an MP4, a version precedes the boxes.
        let isPlain = bytes.bytes(at: box.lowerBound + 4, count: 4) == Array("hdlr".utf8)
        let box = box.dropFirst(isPlain ? 0 : 4)
        guard let table = bytes.box("keys", in: box), let items = bytes.box("ilst", in: box), table.count > 8 else {
            return
        }
        let keys = FileBoxes(bytes, in: table.dropFirst(8)).prefix(Self.maximumKeyCount).map { key in
            bytes.cursor(key.content, limit: Self.textByteLimit).map { String(decoding: $0.rest, as: UTF8.self) }
        }
        for item in FileBoxes(bytes, in: items).prefix(Self.maximumKeyCount) {
            let number = item.type.unicodeScalars.reduce(0) { $0 << 8 | Int($1.value & 0xFF) }
            guard keys.indices.contains(number - 1), let key = keys[number - 1],
                var cursor = bytes.cursor(bytes.box("data", in: item.content), limit: 8 + Self.textByteLimit),
                cursor.number(4) == 1, cursor.take(4) != nil, let text = String(validating: cursor.rest, as: UTF8.self)
            else { continue }
            self.setFact(key, text)
        }
    }

    private mutating func setFact(_ key: String, _ text: String) {
        switch key {
        case "com.apple.quicktime.content.identifier": self.livePhotoID = Self.identifier(text)
        case "com.apple.quicktime.location.ISO6709": self.setPlace(text)
        case "com.apple.quicktime.creationdate": self.setCaptureDate(text)
        case "com.apple.quicktime.make": self.cameraMake = text
        case "com.apple.quicktime.model": self.cameraModel = text
        default: break
        }
    }

    /// Reads the location, which phones that write no such keys store as `©xyz` (length, language, then text) or as
    /// `loci` (3GPP TS 26.244, section 8.10).
    private mutating func readUserData(_ box: Range<Int64>, _ bytes: HeaderBytes) {
        for part in FileBoxes(bytes, in: box).prefix(Self.maximumKeyCount) {
            if part.type == "meta" { self.readKeys(part.content, bytes) }
            guard var cursor = bytes.cursor(part.content, limit: 4 + Self.textByteLimit) else { continue }
            if part.type == "loci" { self.readLocation(&cursor) }
            guard part.type == "\u{A9}xyz", self.latitude == nil, cursor.take(4) != nil else { continue }
            self.setPlace(String(decoding: cursor.rest, as: UTF8.self))
        }
    }

    /// Reads a version and a language, a name that ends with a zero byte, a role, and the location in degrees, as 16.16
    /// fixed-point numbers.
    private mutating func readLocation(_ cursor: inout ByteCursor) {
        guard cursor.take(6) != nil else { return }
        while let letter = cursor.number(1), letter != 0 { continue }
        guard cursor.take(1) != nil, let longitude = cursor.number(4), let latitude = cursor.number(4) else { return }
        let degrees = { (value: UInt64) in Double(Int32(truncatingIfNeeded: value)) / 65536 }
        self.setPlace(latitude: degrees(latitude), longitude: degrees(longitude))
    }

    /// Sets the location from text such as `+48.1374+011.5755+520.000/` (ISO 6709, annex H, in degrees).
    private mutating func setPlace(_ text: String) {
        let isSign = { (letter: UInt8) in letter == UInt8(ascii: "+") || letter == UInt8(ascii: "-") }
        let bytes = Array(text.utf8)
        let signs = bytes.indices.filter { isSign(bytes[$0]) }
        guard signs.first == 0, signs.count >= 2 else { return }
        let end = bytes[(signs[1] + 1)...].firstIndex { isSign($0) || $0 == UInt8(ascii: "/") } ?? bytes.endIndex
        self.setPlace(
            latitude: Double(String(decoding: bytes[..<signs[1]], as: UTF8.self)),
            longitude: Double(String(decoding: bytes[signs[1]..<end], as: UTF8.self)))
    }
}
#endif
