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
    /// the extension of the raw picture is entirely in lower or upper case. Likewise, `NAME.AAE` belongs to the HEIC.
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
        // A camera that stores a photo in both formats describes the adjustment of the HEIC.
        let isBesideHEIC = suffix?.lowercased() != "heic" && first(stem, ["HEIC", "heic"]) != nil
        let aae = isBesideHEIC ? nil : first(stem, ["AAE", "aae"])
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
    /// The number of UTF-16 units to which Takeout truncates the name before `.json`.
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

    /// A document found by its name.
    package struct Match: Equatable {
        package var name: String
        /// False if the document describes the original of this edited copy, or the picture of this film.
        package let isOwn: Bool
    }

    /// Returns the document for a photo among the names in a folder; nil if not found.
    ///
    /// - Complexity: O(length of the name), regardless of the number of files.
    package static func match(for photo: String, documents: Set<String>, photos: Set<String>) -> Match? {
        guard !documents.isEmpty else { return nil }
        var found = self.match(for: photo) { documents.contains($0) || photos.contains($0) }
        // Equal strings may have different bytes, and only those in the set name a file.
        if let name = found?.name, let index = documents.firstIndex(of: name) { found?.name = documents[index] }
        return found
    }

    /// Returns the document for a photo; nil if not found.
    ///
    /// Recognises the names that Takeout writes for `a.jpg`, and what archives and file systems make of them:
    /// - `a.jpg.json` and `a.jpg.supplemental-metadata.json`, without the extension too, each truncated to 46 UTF-16
    ///   units (ente/ente#4956, simulot/immich-go#35);
    /// - the number of `a(1).jpg` at the end, as in `a.jpg(1).json` (ente/ente#4956);
    /// - for `a-edited.jpg`, and for copies with a word of another language, such as `a-bearbeitet.jpg` or
    ///   `a-ha editado(1).jpg`, the document of the photo that was edited (mattwilson1024/google-photos-exif#49,
    ///   garzj/google-photos-migrate#5, TheLastGimbus/GooglePhotosTakeoutHelper#217);
    /// - for the film of a Live Photo, the document of its picture;
    /// - an extension in another case, and the other Unicode normalization form.
    ///
    /// - Parameter exists: Returns true if the folder contains a file with this name.
    static func match(for photo: String, where exists: (String) -> Bool) -> Match? {
        if let name = self.name(of: photo, where: exists) { return Match(name: name, isOwn: true) }
        for case let original? in [self.edited(photo, where: exists), self.picture(ofFilm: photo, where: exists)] {
            if let name = self.name(of: original, where: exists) { return Match(name: name, isOwn: false) }
        }
        return nil
    }

    /// Returns the name of the original of an edited copy; nil for any other photo.
    private static func edited(_ photo: String, where exists: (String) -> Bool) -> String? {
        let (whole, ext) = self.split(photo)
        let (stem, number) = self.splitNumber(whole)
        guard let dash = stem.lastIndex(of: "-"), dash > stem.startIndex else { return nil }
        let word = stem[dash...].dropFirst()
        guard !word.isEmpty, word.allSatisfy({ $0.isLetter || $0 == " " }) else { return nil }
        let original = "\(stem[..<dash])\(number)"
        let found = LivePhotoNames.variants(ofExtension: ext).lazy.map { "\(original).\($0)" }.first(where: exists)
        return found ?? (word == "edited" ? "\(original).\(ext)" : nil)
    }

    private static func picture(ofFilm photo: String, where exists: (String) -> Bool) -> String? {
        LivePhotoNames.isFilm(photo) ? LivePhotoNames.pair(of: photo, where: exists) : nil
    }

    private static func split(_ name: String) -> (stem: String, ext: String) {
        ((name as NSString).deletingPathExtension, (name as NSString).pathExtension)
    }

    /// Splits off a number such as `(1)` at the end.
    private static func splitNumber(_ stem: String) -> (stem: Substring, number: Substring) {
        guard stem.hasSuffix(")"), let open = stem.lastIndex(of: "("), Int(stem[open...].dropFirst().dropLast()) != nil
        else { return (stem[...], "") }
        return (stem[..<open], stem[open...])
    }

    /// Returns the name of the document that describes this very photo; nil if not found.
    private static func name(of photo: String, where exists: (String) -> Bool) -> String? {
        let (whole, ext) = self.split(photo)
        let (stem, number) = self.splitNumber(whole)
        // The likeliest names first.
        let extensions = ext.isEmpty ? [] : [ext, ext.lowercased(), ext.uppercased()].map { ".\($0)" }
        for ext in self.different(extensions) + [""] {
            let bases = [("\(whole)\(ext)", ""), ("\(stem)\(ext)", number)]
            for (base, number) in bases.prefix(number.isEmpty ? 1 : 2) {
                let (composed, decomposed) = (
                    base.precomposedStringWithCanonicalMapping, base.decomposedStringWithCanonicalMapping
                )
                for form in self.different([base, composed, decomposed]) {
                    if let found = self.candidates(form, number).first(where: exists) { return found }
                }
            }
        }
        return nil
    }

    /// Returns the names of a document from the whole name of a photo to the shortest that Takeout may truncate it to.
    private static func candidates(_ name: String, _ number: Substring) -> some Sequence<String> {
        let longest = name + self.suffix
        let (units, nameCount) = (longest.utf16, name.utf16.count)
        func end(_ count: Int) -> String.Index? {
            units.index(units.startIndex, offsetBy: count).samePosition(in: longest.unicodeScalars)
        }
        var shortest = min(nameCount, max(1, self.maximumNameLength - number.utf16.count))
        // A character of two units is not cut in two.
        if end(shortest) == nil { shortest -= 1 }
        return ([nameCount] + Array(shortest...units.count)).lazy.compactMap(end).flatMap { end in
            ["json", "JSON"].map { "\(longest[..<end])\(number).\($0)" }
        }
    }

    /// Removes names whose bytes occur earlier; strings in different normalization forms are equal.
    private static func different(_ names: [String]) -> [String] {
        names.reduce(into: []) { all, name in
            if !all.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { all.append(name) }
        }
    }
}
#endif
