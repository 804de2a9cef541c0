import BlobCore
import Foundation

extension CataloguedAsset {
    /// The path of the folder of the file.
    private var folder: String {
        self.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self.path[..<$0]) } ?? ""
    }

    /// Returns true when a file is beside this one.
    private func isBeside(_ name: String) -> Bool {
        (try? FileSnapshot(path: "\(self.folder)/\(name)"))?.isRegular == true
    }

    /// The name of the other half of a live photo, when it is beside the file.
    var pairName: String? { self.name.flatMap { LivePhotoNames.pair(of: $0, where: self.isBeside) } }

    /// Sets what the file itself and its neighbours tell.
    mutating func look() {
        guard let status = try? FileSnapshot(path: self.path) else {
            self.isMissing = true
            return
        }
        self.isMissing = false
        self.sha256 = FileDigests.known(self.path, status)?.sha256
        self.modificationDate = Date(nanoseconds: status.modification.inNanoseconds)
        guard let name, self.adjustment == nil else { return }
        self.sidecarPaths = Sidecar.names(beside: name, where: self.isBeside).map { "\(self.folder)/\($0)" }
    }
}

extension String {
    /// The path with one slash for several.
    var singleSlashes: String {
        guard self.contains("//") else { return self }
        return "/" + self.split(separator: "/").joined(separator: "/")
    }
}
