import BlobCore
import Foundation

/// A root of digiKam's albums: a folder on a volume.
struct AlbumRoot {
    /// The path; one that cannot be, below the folder of mounted volumes, when the volume is not there.
    let path: String
    /// False when the volume is not mounted.
    let isThere: Bool

    /// - Parameters:
    ///   - identifier: The volume: `volumeid:?path=…`, `volumeid:?uuid=…` or `networkshareid:?mountpath=…`. With any
    ///     other, such as the label of a disc, the volume is not there.
    ///   - specificPath: The path of the folder on the volume.
    init(identifier: String, specificPath: String) {
        let query = identifier.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let items = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let value = { (name: String) -> String? in
            guard let item = items.first(where: { $0.count == 2 && $0[0] == name }) else { return nil }
            return PercentEncoding.decode(item[1].utf8).flatMap { String(validating: $0, as: UTF8.self) }
        }
        if let base = value("path") ?? value("mountpath") {
            (self.path, self.isThere) = (base + specificPath, true)
        } else {
            let base = value("uuid").flatMap(MountedVolumes.path)
            (self.path, self.isThere) = ((base ?? "/media/\(value("uuid") ?? "unknown")") + specificPath, base != nil)
        }
    }
}

/// The volumes that are mounted.
private enum MountedVolumes {
    /// Returns where the volume with a UUID of its file system is mounted now; nil while it is not there.
    ///
    /// Looks the device up, and where it is mounted; see proc(5), `/proc/self/mounts`. Another card may take the place
    /// of one that was removed, so nothing is kept.
    static func path(uuid: String) -> String? {
        guard !uuid.contains("/"),
            let device = realpath("/dev/disk/by-uuid/\(uuid)", nil)
                ?? realpath("/dev/disk/by-uuid/\(uuid.lowercased())", nil)
        else { return nil }
        defer { free(device) }
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // A volume of a mapper has several names.
            guard fields.count > 1, fields[0].hasPrefix("/"), let mounted = realpath(String(fields[0]), nil) else {
                continue
            }
            defer { free(mounted) }
            guard strcmp(mounted, device) == 0 else { continue }
            // Spaces and others are octal.
            return String(fields[1]).replacing(/\\(\d{3})/) { match in
                Int(match.output.1, radix: 8).flatMap(UnicodeScalar.init).map { String(Character($0)) } ?? ""
            }
        }
        return nil
    }
}
