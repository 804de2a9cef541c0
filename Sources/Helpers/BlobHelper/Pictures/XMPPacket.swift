package import BlobCore

/// The properties in an XMP packet (ISO 16684-1).
package struct XMPPacket {
    /// A property: a text, or a list of texts.
    package struct Property {
        package var name: MarkupElement.Name
        /// The text of a simple property; nil for any other.
        package var text: String?
        /// The texts of an array; empty for any other.
        package var items: [String] = []
        /// The range of the attribute or the element in the packet.
        package var range: Range<Int>
    }

    private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

    /// The properties in the order of the packet.
    package let properties: [Property]

    /// Parses a packet.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for an invalid packet, ``BlobError/Code/limitExceeded`` for a packet that
    ///   exceeds a limit of ``MarkupElement``.
    package init(_ bytes: [UInt8]) throws(BlobError) {
        var properties: [Property] = []
        Self.read(try MarkupElement.parse(bytes), into: &properties)
        self.properties = properties
    }

    private static func read(_ element: MarkupElement, into properties: inout [Property]) {
        guard element.name == .init(namespace: self.rdf, local: "Description") else {
            for child in element.children { self.read(child, into: &properties) }
            return
        }
        for attribute in element.attributes where attribute.name.namespace != self.rdf {
            properties.append(Property(name: attribute.name, text: attribute.value, range: attribute.range))
        }
        for child in element.children {
            var property = Property(name: child.name, range: child.range)
            if let container = child.children.first {
                property.items = container.children.map(\.trimmedText)
            } else if !child.attributes.contains(where: self.isField) {
                property.text = child.trimmedText
            }
            properties.append(property)
        }
    }

    /// Returns true for an attribute that makes an empty element a structure or a reference (section 7.9.2.5);
    /// attributes of the text itself, such as its language, do not.
    private static func isField(_ attribute: MarkupElement.Attribute) -> Bool {
        attribute.name.namespace != "xml"
            && (attribute.name.namespace != self.rdf || attribute.name.local == "resource")
    }

    // MARK: Adjustments

    /// The namespaces of the adjustments of iOS 5 to 7, and of Adobe's programs
    /// (developer.adobe.com/xmp/docs/XMPNamespaces/crs).
    private static let namespaces = [
        "aas": "http://ns.apple.com/adjustment-settings/", "crs": "http://ns.adobe.com/camera-raw-settings/",
    ]

    /// Returns true if a packet may describe an adjustment, even if it is damaged or not in UTF-8.
    package static func mentionsAdjustments(_ packet: [UInt8]) -> Bool {
        if packet.starts(with: [0xFE, 0xFF]) || packet.starts(with: [0xFF, 0xFE]) { return true }
        return self.namespaces.values.contains { packet.contains($0) }
    }

    /// The names of the properties that describe how a picture was adjusted; empty if the picture is shown as stored.
    package var adjustments: [String] {
        let found = Self.namespaces.mapValues { namespace in
            self.properties.filter { $0.name.namespace.hasPrefix(namespace) }
        }
        let adobe = found["crs"] ?? []
        let applied = adobe.filter { $0.name.local == "AlreadyApplied" }
        let isApplied = !applied.isEmpty && applied.allSatisfy { $0.text?.lowercased() == "true" }
        let settings = isApplied ? [] : adobe.filter { !Self.neutral.contains($0.name.local) && !$0.hasNoEffect }
        let names = (found["aas"] ?? []).map { "aas:\($0.name.local)" } + settings.map { "crs:\($0.name.local)" }
        return Set(names).sorted()
    }

    /// Settings that describe the file or the program, or that only have an effect together with other settings.
    private static let neutral: Set<String> = [
        "AlreadyApplied", "CompatibleVersion", "CropAngle", "CropBottom", "CropConstrainToUnitSquare",
        "CropConstrainToWarp", "CropHeight", "CropLeft", "CropRight", "CropTop", "CropUnit", "CropUnits", "CropWidth",
        "HasSettings", "OverrideLookVignette", "ParametricHighlightSplit",
        "ParametricMidtoneSplit", "ParametricShadowSplit", "PostCropVignetteFeather", "PostCropVignetteMidpoint",
        "ProcessVersion", "RawFileName", "SharpenDetail", "SharpenEdgeMasking", "SharpenRadius", "ToneCurveName",
        "ToneCurveName2012", "Version", "ColorNoiseReductionDetail", "ColorNoiseReductionSmoothness",
        "LuminanceNoiseReductionContrast", "LuminanceNoiseReductionDetail", "DefringeGreenHueHi", "DefringeGreenHueLo",
        "DefringePurpleHueHi", "DefringePurpleHueLo", "GrainFrequency", "GrainSize", "ColorGradeBlending",
    ]

    // MARK: Rendered pictures

    private static let staleNames = [
        MarkupElement.Name(namespace: "http://ns.adobe.com/tiff/1.0/", local: "Orientation"),
        MarkupElement.Name(namespace: "http://ns.adobe.com/exif/1.0/", local: "PixelXDimension"),
        MarkupElement.Name(namespace: "http://ns.adobe.com/exif/1.0/", local: "PixelYDimension"),
    ]

    /// The namespaces that describe further pictures after this one: the parts of a file, and a gain map.
    private static let trailers: Set = [
        "http://ns.google.com/photos/1.0/container/", "http://ns.adobe.com/hdr-gain-map/1.0/",
    ]
    /// The namespace of the properties of motion photos, among other properties.
    private static let camera = "http://ns.google.com/photos/1.0/camera/"

    /// True for a property that does not apply to a rendered picture.
    private static func isStale(_ name: MarkupElement.Name) -> Bool {
        self.staleNames.contains(name) || self.namespaces.values.contains { name.namespace.hasPrefix($0) }
            || self.trailers.contains(name.namespace)
            || name.namespace == self.camera && (name.local.hasPrefix("Motion") || name.local.hasPrefix("MicroVideo"))
    }

    /// Returns a packet without the properties of adjustments, orientation, size and data after the original; nil if
    /// the packet is invalid.
    package static func withoutAdjustments(_ packet: [UInt8]) -> [UInt8]? {
        guard let properties = try? XMPPacket(packet).properties else { return nil }
        var result = packet
        let ranges = properties.filter { self.isStale($0.name) }.map(\.range)
        for range in ranges.sorted(by: { $0.lowerBound > $1.lowerBound }) { result.removeSubrange(range) }
        return result
    }
}

extension XMPPacket.Property {
    /// True for an Adobe setting that is off, zero, as shot, or a straight curve.
    fileprivate var hasNoEffect: Bool {
        if let text {
            return ["", "False", "false", "As Shot", "Linear", "None"].contains(text) || Double(text) == 0
        }
        return self.name.local.hasPrefix("ToneCurve") && self.items == ["0, 0", "255, 255"]
    }
}

/// The XMP packet in a picture, if it may describe an adjustment.
package enum EmbeddedXMP {
    /// The beginnings of the APP1 segments of a JPEG that contain a packet, and a part of an extended packet.
    package static let packetName = "http://ns.adobe.com/xap/1.0/\0"
    package static let extensionName = "http://ns.adobe.com/xmp/extension/\0"

    /// Returns the packet if it mentions adjustments; an empty array otherwise.
    ///
    /// Several packets, as with an extended packet (XMP specification, part 3, section 1.1.3.1), are concatenated if
    /// they mention adjustments: the result is then not a valid packet, so nothing in it is rendered.
    package static func find(in bytes: HeaderBytes) -> [UInt8] {
        let packets: [[UInt8]]
        switch MediaFormat(signature: bytes.prefix(MediaFormat.signatureByteCount)) {
        case .jpeg: packets = self.packetsInJPEG(bytes)
        case .png: packets = self.packetsInPNG(bytes)
        case .heic, .avif: packets = self.packet(bytes, HEIFBoxes(bytes)?.xmpRange)
        case .webp: packets = self.packet(bytes, self.chunks(bytes, isRIFF: true).first { $0.type == "XMP " }?.content)
        case .tiff: packets = self.packet(bytes, TIFFDirectory(bytes, in: 0..<bytes.byteCount)?.xmpRange)
        default: packets = []
        }
        return packets.filter(XMPPacket.mentionsAdjustments).flatMap { $0 }
    }

    /// A placeholder for an unreadable packet, treated as describing an adjustment.
    private static let unreadable: [UInt8] = [0xFE, 0xFF]

    private static func packet(_ bytes: HeaderBytes, _ range: Range<Int64>?) -> [[UInt8]] {
        range.map { [bytes.bytes(at: $0.lowerBound, count: $0.count) ?? self.unreadable] } ?? []
    }

    /// Returns the chunks of a PNG (third edition, section 5.3), or of a WebP (RFC 9649, section 2.3).
    private static func chunks(_ bytes: HeaderBytes, isRIFF: Bool) -> [(type: String, content: Range<Int64>)] {
        var chunks: [(type: String, content: Range<Int64>)] = []
        var offset: Int64 = isRIFF ? 12 : 8
        while let head = bytes.bytes(at: offset, count: 8) {
            var size = ByteCursor(isRIFF ? head[4...] : head[..<4])
            guard let count = size.number(4, isBigEndian: !isRIFF).map(Int64.init) else { break }
            let type = String(decoding: isRIFF ? head[..<4] : head[4...], as: UTF8.self)
            chunks.append((type, (offset + 8)..<(offset + 8 + count)))
            // A checksum follows the data in PNG, and WebP has even offsets.
            offset += 8 + count + (isRIFF ? count % 2 : 4)
        }
        return chunks
    }

    private static func packetsInJPEG(_ bytes: HeaderBytes) -> [[UInt8]] {
        let (main, extended) = (Array(self.packetName.utf8), Array(self.extensionName.utf8))
        var packets: [[UInt8]] = [[]]
        for (marker, range) in JPEGSegments(bytes) where marker == 0xE1 {
            guard let content = bytes.bytes(at: range.lowerBound, count: range.count) else {
                packets.append(self.unreadable)
                break
            }
            if content.starts(with: main) {
                packets.append(Array(content[main.count...]))
            } else if content.starts(with: extended) {
                // A digest of 32 bytes, the length and the offset of the part in the extended packet.
                packets[0] += content[extended.count...].dropFirst(40)
            }
        }
        return packets
    }

    private static func packetsInPNG(_ bytes: HeaderBytes) -> [[UInt8]] {
        let keyword = Array("XML:com.adobe.xmp\0".utf8)
        for (type, range) in self.chunks(bytes, isRIFF: false) where type == "iTXt" {
            guard let content = bytes.bytes(at: range.lowerBound, count: range.count) else { return [self.unreadable] }
            guard content.starts(with: keyword) else { continue }
            // The XMP specification, part 3, requires no compression, and empty language and translated keyword.
            let flags = content[keyword.count...].prefix(4)
            return [flags.allSatisfy { $0 == 0 } ? Array(content[keyword.count...].dropFirst(4)) : self.unreadable]
        }
        return []
    }
}

extension [UInt8] {
    /// Returns true if these bytes contain the bytes of `text`.
    package func contains(_ text: String) -> Bool {
        let text = Array(text.utf8)
        guard let first = text.first else { return true }
        var rest = self[...]
        while let place = rest.firstIndex(of: first) {
            if rest[place...].starts(with: text) { return true }
            rest = rest[(place + 1)...]
        }
        return false
    }
}
