internal import CGexiv2
internal import CHelper
internal import HelperExchange

/// Reads the facts of a picture.
///
/// - Parameter byteCount: The length of the file in bytes.
func readFacts(of file: CInt, byteCount: Int64) throws(HelperFailure) -> ExchangeFrame {
    guard let count = Int(exactly: byteCount), count > 0, let bytes = blob_map_file(file, count) else {
        throw HelperFailure(.limit, "the file of \(byteCount) bytes could not be mapped into memory")
    }
    defer { blob_unmap_memory(bytes, count) }
    let start = bytes.assumingMemoryBound(to: UInt8.self)
    var facts = MediaFacts()
    var isRead = facts.read(start, count)
    // A box of an ISO base media file, whose type follows its length. libheif may find metadata there that libgexiv2
    // did not.
    if count > 8, UnsafeBufferPointer(start: start + 4, count: 4).elementsEqual("ftyp".utf8), facts.texts[.make] == nil
    {
        for type in ["Exif", "mime"] {
            var blockCount = 0
            guard let block = blob_heif_block(start, count, type, blockByteLimit, &blockCount) else { continue }
            defer { blob_free(block) }
            // Exif begins with the offset of its TIFF (ISO/IEC 23008-12, section A.2.1).
            let offset = type == "Exif" && blockCount > 4 ? 4 + (0..<4).reduce(0) { $0 << 8 | Int(block[$1]) } : 0
            if offset < blockCount { isRead = facts.read(block + offset, blockCount - offset) || isRead }
        }
    }
    guard isRead else { throw HelperFailure(.library, "it contains no readable metadata") }
    return ExchangeFrame(.facts, payload: facts.encoded)
}

/// The largest block of metadata in a HEIF that is read, in bytes.
private let blockByteLimit = 16 << 20

extension MediaFacts {
    /// Adds the facts that are not known yet; returns false if the bytes are neither a picture nor metadata.
    fileprivate mutating func read(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        guard let metadata = blob_gexiv2_read(bytes, count) else { return false }
        defer { blob_gexiv2_free(metadata) }
        for fact in MediaFact.allCases where self.texts[fact] == nil {
            self.texts[fact] = fact.tags.lazy.compactMap { text(of: $0, metadata) }.first
        }
        var (latitude, longitude) = (0.0, 0.0)
        if self.texts[.latitude] == nil, blob_gexiv2_place(metadata, &latitude, &longitude) {
            self.texts[.latitude] = Array("\(latitude)".utf8)
            self.texts[.longitude] = Array("\(longitude)".utf8)
        }
        if self.texts[.appleNote] == nil {
            let note = [UInt8](unsafeUninitializedCapacity: Self.noteByteLimit) { buffer, count in
                count = blob_gexiv2_bytes(
                    metadata, "Exif.Photo.MakerNote", buffer.baseAddress, Self.noteByteLimit)
            }
            if note.starts(with: "Apple iOS\0".utf8) { self.texts[.appleNote] = note }
        }
        return true
    }
}

/// Returns the text of a tag, with surrounding blanks removed; nil if it is empty or too long.
private func text(of tag: String, _ metadata: OpaquePointer) -> [UInt8]? {
    guard let text = blob_gexiv2_text(metadata, tag) else { return nil }
    defer { blob_free(text) }
    let bytes = UnsafeRawBufferPointer(start: text, count: blob_length(text))
    let trimmed = bytes.drop { $0 == 0x20 }
    guard let end = trimmed.lastIndex(where: { $0 != 0x20 }) else { return nil }
    let result = Array(trimmed[...end])
    return result.count <= MediaFacts.textByteLimit ? result : nil
}

extension MediaFact {
    /// The tags that contain the fact, in order of preference.
    fileprivate var tags: [String] {
        switch self {
        case .make: ["Exif.Image.Make", "Xmp.tiff.Make"]
        case .model: ["Exif.Image.Model", "Xmp.tiff.Model"]
        case .lens: ["Exif.Photo.LensModel", "Exif.Canon.LensModel", "Xmp.exifEX.LensModel", "Xmp.aux.Lens"]
        case .orientation: ["Exif.Image.Orientation", "Xmp.tiff.Orientation"]
        case .captureDate: ["Exif.Photo.DateTimeOriginal", "Xmp.exif.DateTimeOriginal"]
        case .captureOffset: ["Exif.Photo.OffsetTimeOriginal"]
        case .captureSubsecond: ["Exif.Photo.SubSecTimeOriginal"]
        case .city: ["Iptc.Application2.City", "Xmp.photoshop.City"]
        case .country: ["Iptc.Application2.CountryName", "Xmp.photoshop.Country"]
        case .latitude, .longitude, .appleNote: []
        }
    }
}
