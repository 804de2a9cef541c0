import BlobPlatform
import BlobStreamsStandard

extension BlobRegistry {
    /// Returns the path of an argument that is a folder; nil for any other.
    func folderPath(_ argument: String) -> [UInt8]? {
        guard let locator = try? self.locator(for: argument), let path = locator.filePath,
            locator.selectors.isEmpty, locator.scheme == "file", !path.contains(0),
            fileType(at: path.cString, followingLinks: true) == S_IFDIR
        else { return nil }
        return path
    }
}
