import BlobCore
import Foundation

/// The files beside a picture that describe its adjustment.
enum Sidecar {
    /// The extensions of raw pictures.
    private static let rawExtensions: Set = [
        "3fr", "arw", "cr2", "cr3", "crw", "dng", "erf", "iiq", "kdc", "mos", "mrw", "nef", "nrw", "orf", "pef", "raf",
        "raw", "rw2", "rwl", "sr2", "srf", "srw", "x3f",
    ]

    /// Reads the sidecars of the file at a path.
    ///
    /// `NAME.xmp` beside `NAME.jpg` and a raw picture `NAME.EXT` is that of the raw picture.
    ///
    /// - Parameter time: Sidecars whose last change is not after it are left out: nanoseconds since 1970.
    /// - Throws: Errors of a sidecar that exists and cannot be read.
    static func beside(
        _ path: [UInt8], changedAfter time: Int64 = .min
    ) throws(BlobError) -> [AdjustmentDescriptions.SidecarKind: [UInt8]] {
        var found: [AdjustmentDescriptions.SidecarKind: [UInt8]] = [:]
        var unchanged: Set<AdjustmentDescriptions.SidecarKind> = []
        let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let suffix = Asset.fileExtension(ofName: String(decoding: path[name...], as: UTF8.self))
        let stem = suffix.map { path.dropLast($0.utf8.count + 1) } ?? path[...]
        // The longer name tells a picture from others with its name and another extension.
        let candidates: [(AdjustmentDescriptions.SidecarKind, [UInt8])] = [
            (.aae, stem + Array(".AAE".utf8)), (.aae, stem + Array(".aae".utf8)), (.xmp, path + Array(".xmp".utf8)),
            (.xmp, path + Array(".XMP".utf8)), (.xmp, stem + Array(".xmp".utf8)), (.xmp, stem + Array(".XMP".utf8)),
        ]
        let isRaw = suffix.map { self.rawExtensions.contains($0.lowercased()) } ?? false
        for (number, (kind, candidate)) in candidates.enumerated() where found[kind] == nil && !unchanged.contains(kind)
        {
            do throws(BlobError) {
                if number >= 4, !isRaw, let status = try? FileSnapshot(path: candidate) {
                    guard status.change.inNanoseconds > time else {
                        unchanged.insert(kind)
                        continue
                    }
                    if self.hasRawPicture(stem) { continue }
                }
                let file = try OriginalFile(path: candidate)
                defer { file.close() }
                if file.snapshot.change.inNanoseconds > time {
                    found[kind] = try self.content(of: file)
                } else {
                    unchanged.insert(kind)
                }
            } catch  where error.code == .notFound {}
        }
        return found
    }

    /// Returns the names of the sidecars of a picture, of each kind the first as in ``beside(_:changedAfter:)``.
    ///
    /// - Parameter isThere: Returns true when a file of the folder has a name.
    static func names(beside name: String, where isThere: (String) -> Bool) -> [String] {
        let suffix = Asset.fileExtension(ofName: name)
        let stem = suffix.map { String(name.dropLast($0.count + 1)) } ?? name
        let aae = ["\(stem).AAE", "\(stem).aae"].first(where: isThere)
        let own = ["\(name).xmp", "\(name).XMP"].first(where: isThere)
        let isRaw = suffix.map { self.rawExtensions.contains($0.lowercased()) } ?? false
        let shared = own == nil ? ["\(stem).xmp", "\(stem).XMP"].first(where: isThere) : nil
        let isOfRaw =
            shared != nil && !isRaw
            && self.rawExtensions.contains { isThere("\(stem).\($0)") || isThere("\(stem).\($0.uppercased())") }
        return [aae, own ?? (isOfRaw ? nil : shared)].compactMap { $0 }
    }

    /// Returns true when a raw picture has this path and an extension, all in lower or all in upper case.
    private static func hasRawPicture(_ stem: ArraySlice<UInt8>) -> Bool {
        self.rawExtensions.lazy.flatMap { [$0, $0.uppercased()] }.contains { suffix in
            (try? FileSnapshot(path: stem + Array(".\(suffix)".utf8))) != nil
        }
    }

    /// Returns the kind of a sidecar by its name; nil for any other file.
    static func kind(_ path: String) -> AdjustmentDescriptions.SidecarKind? {
        AdjustmentDescriptions.SidecarKind.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
    }

    /// Reads a sidecar; returns no bytes for one that is too long, so that it is never taken for none.
    static func content(_ path: [UInt8]) throws(BlobError) -> [UInt8] {
        let file = try OriginalFile(path: path)
        defer { file.close() }
        return try self.content(of: file)
    }

    private static func content(of file: OriginalFile) throws(BlobError) -> [UInt8] {
        guard file.snapshot.byteCount <= MarkupElement.byteLimit else { return [] }
        var content = [UInt8](repeating: 0, count: Int(file.snapshot.byteCount))
        let count = content.withUnsafeMutableBytes { bytes in
            Result { () throws(BlobError) in try file.fill(bytes, at: 0) }
        }
        return try Array(content[..<count.get()])
    }
}
