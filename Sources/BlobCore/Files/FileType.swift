package import BlobPlatform

/// Returns the type of a file, `S_IFREG` for example; nil, with the reason in `errno`, when it cannot be told.
///
/// - Parameter path: The bytes of the path, with a zero behind them.
package func fileType(at path: [CChar], followingLinks: Bool) -> mode_t? {
    var status = stat()
    guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
    return status.st_mode & S_IFMT
}
