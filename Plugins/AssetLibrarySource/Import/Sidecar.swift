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
    /// - Parameter time: Sidecars whose last change is not after it are left out: nanoseconds since 1970.
    /// - Throws: Errors of a sidecar that exists and cannot be read.
    static func beside(
        _ path: [UInt8], changedAfter time: Int64 = .min
    ) throws(BlobError) -> [AdjustmentDescriptions.SidecarKind: [UInt8]] {
        var found: [AdjustmentDescriptions.SidecarKind: [UInt8]] = [:]
        let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let folder = path[..<name]
        let names = self.names(beside: path[name...]) { (try? FileSnapshot(path: folder + $0)) != nil }
        for (kind, name) in names {
            do throws(BlobError) {
                let file = try OriginalFile(path: folder + name)
                defer { file.close() }
                if file.snapshot.change > time { found[kind] = try self.content(of: file) }
            } catch  where error.code == .notFound {}
        }
        return found
    }

    /// Returns the names of the sidecars of a picture, of each kind the first that is there.
    ///
    /// A longer name tells a picture from others with its name and another extension. `NAME.xmp` beside `NAME.jpg` and a
    /// raw picture `NAME.EXT`, whose extension is all in lower or all in upper case, is that of the raw picture.
    ///
    /// - Parameter isThere: Returns true when a file of the folder has a name.
    static func names(
        beside name: ArraySlice<UInt8>, where isThere: ([UInt8]) -> Bool
    ) -> [(kind: AdjustmentDescriptions.SidecarKind, name: [UInt8])] {
        let suffix = Asset.fileExtension(ofName: String(decoding: name, as: UTF8.self))
        let stem = suffix.map { name.dropLast($0.utf8.count + 1) } ?? name
        func first(_ stem: ArraySlice<UInt8>, _ suffixes: some Sequence<String>) -> [UInt8]? {
            suffixes.lazy.map { stem + Array(".\($0)".utf8) }.first(where: isThere)
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

    /// Returns the names as ``names(beside:where:)`` does, as texts.
    static func names(beside name: String, where isThere: (String) -> Bool) -> [String] {
        self.names(beside: Array(name.utf8)[...]) { isThere(String(decoding: $0, as: UTF8.self)) }
            .map { String(decoding: $0.name, as: UTF8.self) }
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
        return try file.prefix(Int(file.snapshot.byteCount))
    }
}
