#if Photos
import BlobCore
import Foundation

/// A line of the journal, which describes one change of the assets.
enum JournalEntry: Equatable {
    /// The first line: the identity of the journal, which changes when it is rewritten, and the ends of the journals
    /// from which its lines were taken, most recent first.
    case begun(UUID, after: [JournalPlace])
    case added(JournalAsset)
    /// The original with this SHA-256, 64 hexadecimal digits, has a new path in the library.
    case moved(sha256: String, path: String)
    case removed(UUID)
    /// An asset now has these descriptions of its adjustment.
    case adjusted(JournalAdjustment)
    case albumMade(JournalAlbum)
    case albumRemoved(JournalAlbum)
    /// An asset was added to a plain album.
    case listed(UUID, album: String)
    /// An asset was removed from a plain album.
    case unlisted(UUID, album: String)
}

/// The descriptions of the adjustment of an asset.
struct JournalAdjustment: Codable, Equatable {
    /// The minimum length, in bytes, of a sidecar that is stored without its content, so that it cannot be rendered.
    static let sidecarByteLimit = 256 << 10

    let id: UUID
    let generation: Int64
    /// The library's own recipe, as JSON.
    var recipe: String?
    /// The sidecars by their kind.
    var sidecars: [String: Data]
    /// The render made by another program; nil without a render, and in lines from older versions.
    var render: JournalRender?
}

/// An asset that is the render of another asset with an adjustment.
struct JournalRender: Codable, Equatable {
    let id: UUID
    /// The SHA-256 of the descriptions from which the render was made, as 64 hexadecimal digits.
    let adjustment: String
}

struct JournalAlbum: Codable, Hashable {
    let name: String
    let isShared: Bool
    /// The time of creation in nanoseconds since 1970, which distinguishes albums that had the same name at different
    /// times.
    let madeAt: Int64
}

/// The facts about an asset that its file does not contain, or that identify the file.
struct JournalAsset: Codable, Equatable {
    var id: UUID
    var name: String?
    var fileExtension: String?
    let byteCount: Int64
    /// The SHA-256 of the original, as 64 hexadecimal digits.
    let sha256: String
    /// The path of the original, as in the catalogue.
    var path: String
    var generation: Int64
    /// The time of the import, in nanoseconds since 1970, like ``modifiedAt``.
    var importedAt: Int64
    var modifiedAt: Int64?
    var captureDate: String?
    var captureOffset: String?
    var latitude: Double?
    var longitude: Double?
    /// The shared stream to which this item belongs; nil for an asset.
    var album: String?

    /// True if these values are valid in a catalogue.
    var isValid: Bool {
        self.byteCount >= 0 && self.generation > 0 && self.sha256.utf8.count == 64
            && self.sha256.allSatisfy(\.isHexDigit) && self.fileExtension.map(LibraryFolder.isFileExtension) ?? true
            && [self.name, self.captureDate, self.captureOffset, self.album].allSatisfy { $0?.utf8.contains(0) != true }
    }
}

extension JournalEntry {
    /// The members of the JSON object in a line; members that do not apply to its act are nil.
    private struct Line: Codable {
        let act: String
        var after: [JournalPlace]?
        var asset: JournalAsset?
        var adjustment: JournalAdjustment?
        var album: JournalAlbum?
        var name: String?
        var id: UUID?
        var path: String?
        var sha256: String?
    }

    /// The length of the text `,"sum":"0123456789abcdef"}`, which ends a line. The sum is the first 8 bytes of the
    /// SHA-256 of the preceding bytes, in hexadecimal.
    private static let sumByteCount = 26

    /// Returns the line of the entry, with its line ending: one JSON object.
    func line() throws -> [UInt8] {
        let line =
            switch self {
            case .begun(let id, let places): Line(act: "begin", after: places.isEmpty ? nil : places, id: id)
            case .added(let asset): Line(act: "add", asset: asset)
            case .moved(let sha256, let path): Line(act: "move", path: path, sha256: sha256)
            case .removed(let id): Line(act: "remove", id: id)
            case .adjusted(let adjustment): Line(act: "adjust", adjustment: adjustment)
            case .albumMade(let album): Line(act: "make album", album: album)
            case .albumRemoved(let album): Line(act: "remove album", album: album)
            case .listed(let id, let album): Line(act: "list", name: album, id: id)
            case .unlisted(let id, let album): Line(act: "unlist", name: album, id: id)
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = try encoder.encode(line).dropLast()
        return Array(text) + Self.sum(text) + [UInt8(ascii: "\n")]
    }

    /// Parses a line without its line ending; returns nil for any other text, and for a torn or damaged line.
    init?(line: some BidirectionalCollection<UInt8>) {
        let text = line.dropLast(Self.sumByteCount)
        guard text.count > 0, Self.sum(text).elementsEqual(line.suffix(Self.sumByteCount)),
            let line = try? JSONDecoder().decode(Line.self, from: Data(text) + [UInt8(ascii: "}")])
        else { return nil }
        self.init(line)
    }

    private init?(_ line: Line) {
        switch (line.act, line.id) {
        case ("add", _):
            guard let asset = line.asset, asset.isValid else { return nil }
            self = .added(asset)
        case ("move", _):
            guard let sha256 = line.sha256, let path = line.path else { return nil }
            self = .moved(sha256: sha256, path: path)
        case ("adjust", _):
            guard let adjustment = line.adjustment, adjustment.generation > 0 else { return nil }
            self = .adjusted(adjustment)
        case ("make album", _), ("remove album", _):
            guard let album = line.album, !album.name.isEmpty, !album.name.utf8.contains(0) else { return nil }
            self = line.act == "make album" ? .albumMade(album) : .albumRemoved(album)
        case ("begin", let id?): self = .begun(id, after: line.after ?? [])
        case ("remove", let id?): self = .removed(id)
        case ("list", let id?), ("unlist", let id?):
            guard let name = line.name else { return nil }
            self = line.act == "list" ? .listed(id, album: name) : .unlisted(id, album: name)
        default: return nil
        }
    }

    static func sum(_ text: some Collection<UInt8>) -> [UInt8] {
        Array(",\"sum\":\"\(Array(Array(text).sha256.prefix(8)).hexadecimal)\"}".utf8)
    }
}

extension Asset {
    /// The entry for a new path of the original.
    var moved: JournalEntry { .moved(sha256: self.sha256.hexadecimal, path: self.storedPath) }
}

extension JournalAsset {
    /// - Parameter album: The shared stream to which this item belongs.
    init(_ asset: Asset, album: String? = nil) {
        self.init(
            id: asset.id, name: asset.name, fileExtension: asset.fileExtension, byteCount: asset.byteCount,
            sha256: asset.sha256.hexadecimal, path: asset.storedPath, generation: asset.generation,
            importedAt: asset.importDate.nanoseconds, modifiedAt: asset.modificationDate?.nanoseconds,
            captureDate: asset.media.captureDate, captureOffset: asset.media.captureOffset,
            latitude: asset.media.latitude, longitude: asset.media.longitude, album: album)
    }
}
#endif
