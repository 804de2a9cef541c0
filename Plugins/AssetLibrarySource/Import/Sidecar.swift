#if Photos
import BlobCore
package import Foundation

/// The sidecars of a picture that describe its adjustment.
enum Sidecar {
    /// The extensions of raw pictures.
    private static let rawExtensions: Set = [
        "3fr", "arw", "cr2", "cr3", "crw", "dng", "erf", "iiq", "kdc", "mos", "mrw", "nef", "nrw", "orf", "pef", "raf",
        "raw", "rw2", "rwl", "sr2", "srf", "srw", "x3f",
    ]

    /// Reads the sidecars of the file at a path.
    ///
    /// - Parameter time: The time after which a sidecar must have changed to be included, in nanoseconds since 1970.
    /// - Throws: Errors reading an existing sidecar.
    static func sidecars(
        beside path: [UInt8], changedAfter time: Int64 = .min
    ) throws(BlobError) -> [AdjustmentDescriptions.SidecarKind: [UInt8]] {
        var found: [AdjustmentDescriptions.SidecarKind: [UInt8]] = [:]
        let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let folder = path[..<name]
        let names = self.names(beside: path[name...]) { (try? FileStatus(ofFileAt: folder + $0)) != nil }
        for (kind, name) in names {
            do throws(BlobError) {
                let file = try OriginalFile(path: folder + name)
                defer { file.close() }
                if file.snapshot.statusChangeTime > time { found[kind] = try self.content(of: file) }
            } catch  where error.code == .notFound {}
        }
        return found
    }

    /// Returns the names of the sidecars of a picture: the first existing name for each kind.
    ///
    /// The longer name `NAME.EXT.xmp` distinguishes pictures that differ only in their extensions. If the folder
    /// contains both `NAME.jpg` and a raw picture `NAME.EXT`, then `NAME.xmp` belongs to the raw picture, provided that
    /// the extension of the raw picture is entirely in lower or upper case.
    ///
    /// - Parameter exists: Returns true if the folder contains a file with this name.
    static func names(
        beside name: ArraySlice<UInt8>, where exists: ([UInt8]) -> Bool
    ) -> [(kind: AdjustmentDescriptions.SidecarKind, name: [UInt8])] {
        let suffix = LibraryFolder.fileExtension(ofName: String(decoding: name, as: UTF8.self))
        let stem = suffix.map { name.dropLast($0.utf8.count + 1) } ?? name
        func first(_ stem: ArraySlice<UInt8>, _ suffixes: some Sequence<String>) -> [UInt8]? {
            suffixes.lazy.map { stem + Array(".\($0)".utf8) }.first(where: exists)
        }
        var xmp = first(name, ["xmp", "XMP"])
        if xmp == nil, let shared = first(stem, ["xmp", "XMP"]) {
            let isRaw = suffix.map { self.rawExtensions.contains($0.lowercased()) } ?? false
            let raw = isRaw ? nil : first(stem, self.rawExtensions.lazy.flatMap { [$0, $0.uppercased()] })
            xmp = raw == nil ? shared : nil
        }
        let aae = first(stem, ["AAE", "aae"])
        return [aae.map { (.aae, $0) }, xmp.map { (.xmp, $0) }].compactMap { $0 }
    }

    /// Returns the same names as ``names(beside:where:)``, as strings.
    static func names(beside name: String, where exists: (String) -> Bool) -> [String] {
        self.names(beside: Array(name.utf8)[...]) { exists(String(decoding: $0, as: UTF8.self)) }
            .map { String(decoding: $0.name, as: UTF8.self) }
    }

    /// Returns the kind of a sidecar with this name; nil for any other file.
    static func kind(_ path: String) -> AdjustmentDescriptions.SidecarKind? {
        AdjustmentDescriptions.SidecarKind.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
    }

    /// Reads a sidecar; returns an empty array if it is too long, so that it is not mistaken for a missing sidecar.
    static func content(_ path: [UInt8]) throws(BlobError) -> [UInt8] {
        let file = try OriginalFile(path: path)
        defer { file.close() }
        return try self.content(of: file)
    }

    private static func content(of file: OriginalFile) throws(BlobError) -> [UInt8] {
        guard file.snapshot.byteCount <= MarkupElement.byteLimit else { return [] }
        return try file.prefix(Int(file.snapshot.byteCount))
    }
}

/// The JSON file that Google Takeout writes beside a photo.
package struct TakeoutDocument {
    /// The name of the photo, which its file name may abbreviate.
    package let title: String?
    /// The date in UTC, in the form of Exif: `2024:05:01 12:30:59`.
    package let captureDate: String?
    /// The location in degrees north and east; nil if unknown.
    package let location: (latitude: Double, longitude: Double)?

    private struct Document: Decodable {
        struct Time: Decodable { let timestamp: String? }
        struct Place: Decodable { let latitude: Double?, longitude: Double? }
        let title: String?
        let photoTakenTime: Time?
        let geoData: Place?
    }

    /// The maximum length in bytes; the documents of photos have one or two thousand bytes.
    package static let byteLimit = 1 << 20
    /// The length to which Takeout truncates the name before `.json`.
    private static let maximumNameLength = 46
    private static let suffix = ".supplemental-metadata"

    /// Parses a document; returns nil if the data is not such a document.
    package init?(_ data: Data) {
        guard let document = try? JSONDecoder().decode(Document.self, from: data) else { return nil }
        let title = document.title.flatMap { $0.isEmpty || $0.utf8.count > 255 ? nil : $0 }
        self.title = title?.replacingOccurrences(of: "/", with: "_")
        let time = document.photoTakenTime?.timestamp.flatMap { Int64($0) } ?? 0
        self.captureDate = time == 0 ? nil : MediaDescription.text(ofTime: time, inUTC: true)
        let (latitude, longitude) = (document.geoData?.latitude ?? 0, document.geoData?.longitude ?? 0)
        // Zero, zero means that the location is unknown.
        let isPlace = (latitude != 0 || longitude != 0) && abs(latitude) <= 90 && abs(longitude) <= 180
        self.location = isPlace ? (latitude, longitude) : nil
    }

    /// Returns the name of the document for a photo among the names in a folder; nil if not found.
    ///
    /// Recognises `a.jpg.json`, `a.jpg.supplemental-metadata.json` and its truncated forms, the number of `a(1).jpg` at
    /// the end, as in `a.jpg(1).json`, and `a-edited.jpg`, which shares the document of `a.jpg`.
    ///
    /// - Complexity: O(length of the name), regardless of the number of documents.
    package static func name(for photo: String, among documents: Set<String>) -> String? {
        documents.isEmpty ? nil : self.name(for: photo, where: documents.contains)
    }

    /// Returns the name of the document for a photo; nil if not found.
    ///
    /// Recognises the same names as ``name(for:among:)``.
    ///
    /// - Parameter exists: Returns true if the folder contains a file with this name.
    static func name(for photo: String, where exists: (String) -> Bool) -> String? {
        let (stem, ext) = ((photo as NSString).deletingPathExtension, (photo as NSString).pathExtension)
        var names = [(photo, "")]
        if stem.hasSuffix(")"), let open = stem.lastIndex(of: "("), Int(stem[open...].dropFirst().dropLast()) != nil {
            names.append(("\(stem[..<open]).\(ext)", String(stem[open...])))
        }
        if stem.hasSuffix("-edited") { names.append(("\(stem.dropLast(7)).\(ext)", "")) }
        for (name, number) in names {
            let longest = name + self.suffix
            let shortest = min(name.count, max(1, self.maximumNameLength - number.count))
            // Tries the whole name first, and then the truncated names.
            let candidates = ([name.count] + Array(shortest...longest.count)).lazy.flatMap { count in
                ["json", "JSON"].map { "\(longest.prefix(count))\(number).\($0)" }
            }
            if let found = candidates.first(where: exists) { return found }
        }
        return nil
    }
}
#endif
