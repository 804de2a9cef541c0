import BlobCore
import Foundation

/// The files beside a picture that describe its adjustment.
enum Sidecar {
    /// Reads the sidecars of the file at a path.
    ///
    /// - Throws: Errors of a sidecar that exists and cannot be read.
    static func beside(_ path: [UInt8]) throws(BlobError) -> [AdjustmentDescriptions.SidecarKind: [UInt8]] {
        var found: [AdjustmentDescriptions.SidecarKind: [UInt8]] = [:]
        guard let path = String(validating: path, as: UTF8.self) else { return found }
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        let stem = Asset.fileExtension(ofName: String(path[name...])).map { path.dropLast($0.count + 1) } ?? path[...]
        // The longer name tells a picture from others with its name and another extension.
        let candidates: [(AdjustmentDescriptions.SidecarKind, String)] = [
            (.aae, "\(stem).AAE"), (.aae, "\(stem).aae"), (.xmp, "\(path).xmp"), (.xmp, "\(path).XMP"),
            (.xmp, "\(stem).xmp"), (.xmp, "\(stem).XMP"),
        ]
        for (kind, candidate) in candidates where found[kind] == nil {
            do throws(BlobError) {
                found[kind] = try self.content(candidate)
            } catch  where error.code == .notFound {}
        }
        return found
    }

    /// Returns the kind of a sidecar by its name; nil for any other file.
    static func kind(_ path: String) -> AdjustmentDescriptions.SidecarKind? {
        AdjustmentDescriptions.SidecarKind.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
    }

    /// Reads a sidecar; returns no bytes for one that is too long, so that it is never taken for none.
    static func content(_ path: String) throws(BlobError) -> [UInt8] {
        let file = try OriginalFile(path)
        defer { file.close() }
        guard file.snapshot.byteCount <= MarkupParser.byteLimit else { return [] }
        var content = [UInt8](repeating: 0, count: Int(file.snapshot.byteCount))
        let count = content.withUnsafeMutableBytes { bytes in
            Result { () throws(BlobError) in try file.fill(bytes, at: 0) }
        }
        return try Array(content[..<count.get()])
    }
}
