import BlobCore
import CryptoDigest
import Foundation

/// A line of the journal: one change of the assets.
enum JournalEntry: Equatable {
    case added(JournalAsset)
    /// The original with this SHA-256, 64 hexadecimal digits, has a new path in the library.
    case moved(sha256: String, path: String)
    case removed(UUID)
}

/// The facts about an asset that its file does not contain, or that identify the file.
struct JournalAsset: Codable, Equatable {
    let id: UUID
    var name: String?
    var fileExtension: String?
    let byteCount: Int64
    /// 64 hexadecimal digits.
    let sha256: String
    /// As in the catalogue.
    var path: String
    let generation: Int64
    /// Nanoseconds since 1970, as ``modifiedAt``.
    let importedAt: Int64
    var modifiedAt: Int64?
    var captureDate: String?
    var captureOffset: String?
    var latitude: Double?
    var longitude: Double?

    /// True when a catalogue may contain these values.
    var isValid: Bool {
        self.byteCount >= 0 && self.generation > 0 && self.sha256.utf8.count == 64
            && self.sha256.allSatisfy(\.isHexDigit) && self.fileExtension.map(Asset.isFileExtension) ?? true
            && [self.name, self.captureDate, self.captureOffset].allSatisfy { $0?.utf8.contains(0) != true }
    }
}

extension JournalEntry {
    /// The members of a line; those of the other acts are nil.
    private struct Line: Codable {
        let act: String
        var asset: JournalAsset?
        var id: UUID?
        var path: String?
        var sha256: String?
    }

    /// The length of the text `,"sum":"0123456789abcdef"}`, which ends a line: the first 8 bytes of the SHA-256 of
    /// what is before it.
    private static let sumByteCount = 26

    /// Returns the line of the entry, with its end: one JSON object.
    func line() throws -> [UInt8] {
        let line =
            switch self {
            case .added(let asset): Line(act: "add", asset: asset)
            case .moved(let sha256, let path): Line(act: "move", path: path, sha256: sha256)
            case .removed(let id): Line(act: "remove", id: id)
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = try encoder.encode(line).dropLast()
        return Array(text) + Self.sum(text) + [UInt8(ascii: "\n")]
    }

    /// Parses a line without its end; nil for any other text, and for a line that is torn or damaged.
    init?(line: some BidirectionalCollection<UInt8>) {
        let text = line.dropLast(Self.sumByteCount)
        guard text.count > 0, Self.sum(text).elementsEqual(line.suffix(Self.sumByteCount)),
            let line = try? JSONDecoder().decode(Line.self, from: Data(text) + [UInt8(ascii: "}")])
        else { return nil }
        switch (line.act, line.asset, line.id, line.sha256, line.path) {
        case ("add", let asset?, _, _, _) where asset.isValid: self = .added(asset)
        case ("move", _, _, let sha256?, let path?): self = .moved(sha256: sha256, path: path)
        case ("remove", _, let id?, _, _): self = .removed(id)
        default: return nil
        }
    }

    private static func sum(_ text: some Collection<UInt8>) -> [UInt8] {
        var hasher = CryptoDigest.sha256.makeHasher()
        Array(text).withUnsafeBytes { hasher.update($0) }
        return Array(",\"sum\":\"\(Array(hasher.finalize().prefix(8)).hexadecimal)\"}".utf8)
    }
}

extension Asset {
    /// The entry for a new path of the original.
    var moved: JournalEntry { .moved(sha256: self.sha256.hexadecimal, path: self.storedPath) }
}

extension JournalAsset {
    /// - Parameter origin: The file from which it was imported, if more than its bytes is known about it.
    init(_ asset: Asset, _ origin: ImportOrigin? = nil) {
        self.init(
            id: asset.id, name: asset.name, fileExtension: asset.fileExtension, byteCount: asset.byteCount,
            sha256: asset.sha256.hexadecimal, path: asset.storedPath, generation: asset.generation,
            importedAt: asset.importDate.nanoseconds, modifiedAt: asset.modificationDate?.nanoseconds,
            captureDate: asset.media.captureDate, captureOffset: asset.media.captureOffset,
            latitude: origin?.place?.latitude, longitude: origin?.place?.longitude)
    }
}
