#if Command
import BlobPlatform
import BlobStreamsStandard

/// The files below a folder, found without opening any of them.
///
/// Links to files are files; links to folders are not followed, so that there are no circles.
struct FolderFiles {
    /// The paths, relative to the folder, in the order of their bytes.
    private(set) var paths: [[UInt8]] = []
    /// The errors of devices, sockets and the like, and of folders that cannot be read.
    private(set) var errors: [BlobError] = []

    /// - Parameter folder: The bytes of its path.
    init(in folder: [UInt8]) {
        let folder = folder.last == UInt8(ascii: "/") ? folder : folder + [UInt8(ascii: "/")]
        var folders: [[UInt8]] = [[]]
        while let parent = folders.popLast() {
            do throws(BlobError) {
                for (name, type) in try Self.entries(of: folder + parent) {
                    if let inner = self.add(parent + name, type, in: folder) { folders.append(inner) }
                }
            } catch {
                self.errors.append(error)
            }
        }
        self.paths.sort { $0.lexicographicallyPrecedes($1) }
    }

    /// Adds a file, or an error for anything else, and returns the path of a folder.
    ///
    /// - Parameter type: The type that the folder reports; nil to examine the file.
    private mutating func add(_ path: [UInt8], _ type: mode_t?, in folder: [UInt8]) -> [UInt8]? {
        do throws(BlobError) {
            let type = if let type { type } else { try Self.type(of: folder + path) }
            switch type {
            case S_IFDIR: return path + [UInt8(ascii: "/")]
            case S_IFREG: self.paths.append(path)
            case S_IFLNK: break
            default:
                throw BlobError(
                    .unsupported, "This is neither a file nor a folder.", operation: "open",
                    locator: BlobLocator(filePath: folder + path).description)
            }
        } catch {
            self.errors.append(error)
        }
        return nil
    }

    /// Returns the type of a file, of the target for a link to a file.
    private static func type(of path: [UInt8]) throws(BlobError) -> mode_t {
        guard let type = fileType(at: path.cString, followingLinks: false) else {
            throw Self.failure("Could not examine", path)
        }
        guard type == S_IFLNK else { return type }
        guard let target = fileType(at: path.cString, followingLinks: true) else {
            throw Self.failure("Could not follow", path)
        }
        return target == S_IFDIR ? S_IFLNK : target
    }

    /// Returns the names in a folder with their types; nil for links and where the file system does not tell.
    private static func entries(of folder: [UInt8]) throws(BlobError) -> [(name: [UInt8], type: mode_t?)] {
        guard let stream = opendir(folder.cString) else {
            throw Self.failure("Could not read the folder", folder)
        }
        defer { closedir(stream) }
        var entries: [(name: [UInt8], type: mode_t?)] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in Array(bytes.prefix { $0 != 0 }) }
            guard !name.elementsEqual(".".utf8), !name.elementsEqual("..".utf8) else { continue }
            // The bits of a mode that are the type (IFTODT in dirent.h).
            let type = mode_t(entry.pointee.d_type) << 12
            entries.append((name, type == 0 || type == S_IFLNK ? nil : type))
        }
        guard errno == 0 else { throw Self.failure("Could not read the folder", folder) }
        return entries
    }

    private static func failure(_ act: String, _ path: [UInt8]) -> BlobError {
        var error = BlobError(systemError: errno, doing: act)
        (error.operation, error.locator) = ("open", BlobLocator(filePath: path).description)
        return error
    }
}

extension [UInt8] {
    /// The bytes of a path without a zero byte, for system calls.
    var cString: [CChar] { self.map { CChar(bitPattern: $0) } + [0] }
}
#endif
