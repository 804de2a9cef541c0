package import BlobPlatform

/// Creates a folder and its missing parents; folders that exist remain as they are.
///
/// - Parameters:
///   - path: The path of the folder. An existing file at the path is not an error.
///   - permissions: The permissions of new folders, before the file mode creation mask is applied.
/// - Returns: The paths of the new folders, parents first.
/// - Throws: The error of the system, also if parents were created before it.
@discardableResult
package func createFolder(
    _ path: [UInt8], permissions: mode_t = 0o777, operation: String? = nil
) throws(BlobError) -> [[UInt8]] {
    var newPaths: [[UInt8]] = []
    guard create(path, permissions, &newPaths) else {
        let text = String(decoding: path, as: UTF8.self)
        var error = BlobError(systemError: errno, doing: "Could not create the folder \(text)")
        error.operation = operation
        throw error
    }
    return newPaths
}

/// Creates a missing folder and its missing parents; returns false, with the reason in `errno`, on failure.
private func create(_ path: [UInt8], _ permissions: mode_t, _ newPaths: inout [[UInt8]]) -> Bool {
    var isNew = mkdir(path.cString, permissions) == 0
    if !isNew, errno == ENOENT, let end = path.lastIndex(of: UInt8(ascii: "/")), end > 0 {
        guard create(Array(path[..<end]), permissions, &newPaths) else { return false }
        isNew = mkdir(path.cString, permissions) == 0
    }
    if isNew { newPaths.append(path) }
    return isNew || errno == EEXIST
}
