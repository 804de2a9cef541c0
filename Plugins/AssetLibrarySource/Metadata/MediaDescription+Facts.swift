import HelperExchange

extension MediaDescription {
    /// Adds the facts that a helper has read, which replace others.
    mutating func add(_ facts: MediaFacts) {
        func text(_ fact: MediaFact) -> String? {
            facts.texts[fact].flatMap { String(validating: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        self.cameraMake = text(.make) ?? self.cameraMake
        self.cameraModel = text(.model) ?? self.cameraModel
        self.lensModel = text(.lens) ?? self.lensModel
        self.city = text(.city) ?? self.city
        self.country = text(.country) ?? self.country
        // Readers rotate a HEIF by its properties, which Exif only repeats.
        if !self.isHEIF, let number = text(.orientation).flatMap(Int.init), (1...8).contains(number) {
            self.orientation = number
        }
        if let date = text(.captureDate) { self.setCaptureDate(date) }
        self.captureOffset = text(.captureOffset) ?? self.captureOffset
        self.captureSubsecond = text(.captureSubsecond) ?? self.captureSubsecond
        self.setPlace(
            latitude: text(.latitude).flatMap(Double.init), longitude: text(.longitude).flatMap(Double.init))
        if let note = facts.texts[.appleNote] { self.readAppleNote(HeaderBytes(note)) }
    }

    private var isHEIF: Bool { self.mediaType == "image/heic" || self.mediaType == "image/avif" }

    /// Sets the place unless it is none; 0, 0 is written by cameras that have not found theirs.
    mutating func setPlace(latitude: Double?, longitude: Double?) {
        guard let latitude, let longitude, (-90...90).contains(latitude), (-180...180).contains(longitude),
            latitude != 0 || longitude != 0
        else { return }
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// Sets the date from a text of Exif, `2024:05:01 12:30:59`, or of XMP or QuickTime,
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

    /// Returns the content identifier of a live pair; nil when the text is none. It is a UUID in practice.
    static func identifier(_ text: String) -> String? {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
    }
}
