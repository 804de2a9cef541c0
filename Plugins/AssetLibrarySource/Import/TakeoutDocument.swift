package import Foundation

/// The JSON file that Google Takeout writes beside a photo.
package struct TakeoutDocument {
    /// The name of the photo, which the name of its file may abbreviate.
    package let title: String?
    /// The date in UTC, as Exif has it: `2024:05:01 12:30:59`.
    package let captureDate: String?
    /// Degrees north and east.
    package let place: (latitude: Double, longitude: Double)?

    private struct Document: Decodable {
        struct Time: Decodable { let timestamp: String? }
        struct Place: Decodable { let latitude: Double?, longitude: Double? }
        let title: String?
        let photoTakenTime: Time?
        let geoData: Place?
    }

    /// The largest length in bytes; those of photos have one or two thousand.
    package static let byteLimit = 1 << 20
    /// The length to which Takeout cuts the name before `.json`.
    private static let nameLimit = 46
    private static let suffix = ".supplemental-metadata"

    /// Parses a document; nil when it is none.
    package init?(_ data: Data) {
        guard let document = try? JSONDecoder().decode(Document.self, from: data) else { return nil }
        let title = document.title.flatMap { $0.isEmpty || $0.utf8.count > 255 ? nil : $0 }
        self.title = title?.replacingOccurrences(of: "/", with: "_")
        let time = document.photoTakenTime?.timestamp.flatMap { Int64($0) } ?? 0
        self.captureDate = time == 0 ? nil : MediaDescription.text(ofTime: time, inUTC: true)
        let (latitude, longitude) = (document.geoData?.latitude ?? 0, document.geoData?.longitude ?? 0)
        // Zero, zero stands for no place.
        let isPlace = (latitude != 0 || longitude != 0) && abs(latitude) <= 90 && abs(longitude) <= 180
        self.place = isPlace ? (latitude, longitude) : nil
    }

    /// Returns the name of the document of a photo, among the names of a folder.
    ///
    /// Knows `a.jpg.json`, `a.jpg.supplemental-metadata.json` and its cut forms, the number of `a(1).jpg` at the end,
    /// as in `a.jpg(1).json`, and `a-edited.jpg`, whose document is that of `a.jpg`.
    ///
    /// - Complexity: O(length of the name), however many documents there are.
    package static func name(for photo: String, among documents: Set<String>) -> String? {
        documents.isEmpty ? nil : self.name(for: photo, where: documents.contains)
    }

    /// Returns the name of the document as ``name(for:among:)`` does.
    ///
    /// - Parameter isThere: Returns true when a file of the folder has a name.
    static func name(for photo: String, where isThere: (String) -> Bool) -> String? {
        let (stem, ext) = ((photo as NSString).deletingPathExtension, (photo as NSString).pathExtension)
        var names = [(photo, "")]
        if stem.hasSuffix(")"), let open = stem.lastIndex(of: "("), Int(stem[open...].dropFirst().dropLast()) != nil {
            names.append(("\(stem[..<open]).\(ext)", String(stem[open...])))
        }
        if stem.hasSuffix("-edited") { names.append(("\(stem.dropLast(7)).\(ext)", "")) }
        for (name, number) in names {
            let longest = name + self.suffix
            let shortest = min(name.count, max(1, self.nameLimit - number.count))
            // The whole name first, and then the cut ones.
            let candidates = ([name.count] + Array(shortest...longest.count)).lazy.flatMap { count in
                ["json", "JSON"].map { "\(longest.prefix(count))\(number).\($0)" }
            }
            if let found = candidates.first(where: isThere) { return found }
        }
        return nil
    }
}
