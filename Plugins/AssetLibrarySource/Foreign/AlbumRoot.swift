import BlobCore
import Foundation

/// A root of digiKam's albums: a folder on a volume.
struct AlbumRoot {
    /// The path; one that cannot be, below the folder of mounted volumes, when the volume is not there.
    let path: String
    /// False when the volume is not mounted.
    let isThere: Bool

    /// - Parameters:
    ///   - identifier: The volume: `volumeid:?path=…`, `volumeid:?uuid=…` or `networkshareid:?mountpath=…`.
    ///   - specificPath: The path of the folder on the volume.
    /// - Throws: ``BlobError/Code/unsupported`` for any other identifier.
    init(identifier: String, specificPath: String) throws(BlobError) {
        let query = identifier.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let items = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let value = { (name: String) -> String? in
            guard let item = items.first(where: { $0.count == 2 && $0[0] == name }) else { return nil }
            return PercentEncoding.decode(item[1].utf8).flatMap { String(validating: $0, as: UTF8.self) }
        }
        if let base = value("path") ?? value("mountpath") {
            (self.path, self.isThere) = (base + specificPath, true)
        } else if let uuid = value("uuid") {
            let base = MountedVolumes.path(uuid: uuid)
            (self.path, self.isThere) = ((base ?? "/media/\(uuid)") + specificPath, base != nil)
        } else {
            throw BlobError(
                .unsupported, "A root of albums is on a volume that is named in an unknown way: \(identifier).")
        }
    }
}

/// The volumes that are mounted.
private enum MountedVolumes {
    private static let known = Locked<[String: String]>([:])

    /// Returns where the volume with a UUID of its file system was mounted when it was first found; nil while it is not
    /// there.
    static func path(uuid: String) -> String? {
        self.known.withLock { known in
            if let found = known[uuid] { return found }
            guard let found = self.find(uuid) else { return nil }
            known[uuid] = found
            return found
        }
    }

    /// Looks the device up, and where it is mounted; see proc(5), `/proc/self/mounts`.
    private static func find(_ uuid: String) -> String? {
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
