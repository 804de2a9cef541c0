import Foundation

extension Folder {
    /// Returns the status of a file by its name, without following a link; nil when there is none.
    func status(ofFile name: String) -> FileSnapshot? {
        self.withStatus(of: name) { FileSnapshot($0) }
    }

    /// Returns true when a folder has this name.
    func hasFolder(named name: String) -> Bool {
        self.withStatus(of: name) { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }
}
