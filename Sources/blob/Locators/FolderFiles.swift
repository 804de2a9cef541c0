#if Command
import BlobPlatform
import BlobStreamsStandard

/// The files in a folder and its subfolders, found without opening any of them.
///
/// A link to a file is treated as a file; links to folders are not followed, which avoids cycles.
struct FolderFiles {
    /// The paths relative to the folder, in byte order.
    private(set) var paths: [[UInt8]] = []
    /// The paths of the subfolders, which end with a slash, in byte order.
    private(set) var folders: [[UInt8]] = []
    /// The errors for devices, sockets and similar files, and for folders that cannot be read.
    private(set) var errors: [BlobError] = []

    /// - Parameter folder: The bytes of the folder's path.
    init(in folder: [UInt8]) {
        let folder = folder.last == UInt8(ascii: "/") ? folder : folder + [UInt8(ascii: "/")]
        var rest: [[UInt8]] = [[]]
        while let parent = rest.popLast() {
            do throws(BlobError) {
                let path = (folder + parent).cString
                for (name, type) in try folderEntries(path, doing: "Could not read the folder") {
                    guard let inner = self.add(parent + name, type, in: folder) else { continue }
                    self.folders.append(inner)
                    rest.append(inner)
                }
            } catch {
                self.errors.append(Self.failure(error, folder + parent))
            }
        }
        self.paths.sort { $0.lexicographicallyPrecedes($1) }
        self.folders.sort { $0.lexicographicallyPrecedes($1) }
    }

    /// Adds a file, or an error for any other type; returns the path if it refers to a folder.
    ///
    /// - Parameter type: The type reported by the folder, if any. Links and files of unreported type are examined.
    private mutating func add(_ path: [UInt8], _ type: mode_t?, in folder: [UInt8]) -> [UInt8]? {
        do throws(BlobError) {
            let type = if let type, type != S_IFLNK { type } else { try Self.type(of: folder + path) }
            switch type {
            case S_IFDIR: return path + [UInt8(ascii: "/")]
            case S_IFREG: self.paths.append(path)
            case S_IFLNK: break
            default:
                throw BlobError(
                    .unsupported, "The path is neither a file nor a folder.", operation: "open",
                    locator: BlobLocator(filePath: folder + path).description)
            }
        } catch {
            self.errors.append(error)
        }
        return nil
    }

    /// Returns the type of a file, or of its target if the file is a link to a file.
    private static func type(of path: [UInt8]) throws(BlobError) -> mode_t {
        guard let status = FileStatus(at: path.cString, followingLinks: false) else {
            throw Self.failure(BlobError(systemError: errno, doing: "Could not examine the file"), path)
        }
        guard status.type == S_IFLNK else { return status.type }
        guard let target = FileStatus(at: path.cString) else {
            throw Self.failure(BlobError(systemError: errno, doing: "Could not follow the link"), path)
        }
        return target.isFolder ? S_IFLNK : target.type
    }

    private static func failure(_ error: BlobError, _ path: [UInt8]) -> BlobError {
        var error = error
        (error.operation, error.locator) = ("open", BlobLocator(filePath: path).description)
        return error
    }
}
#endif
