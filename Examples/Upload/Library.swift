import BlobStreamsStandard
import BlobTransfer
import ExampleProgram
import Foundation

#if Photos
/// Sends all assets of a library with tus, without copying any.
///
/// If this program is killed and started again with the same state folder, it sends only the bytes that the server
/// lacks.
func uploadLibrary(_ path: String, to url: String, keepingStateIn state: String) async throws {
    let library = try AssetLibrary(at: URL(fileURLWithPath: path))
    let folder = URL(fileURLWithPath: state)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let list = try UploadedList(at: folder.appendingPathComponent("uploaded").path)
    var missing: [Asset] = []
    try library.forEachAsset { asset in
        guard !list.contains(asset) else { return }
        if asset.isMissing { ExampleProgram.report("missing: \(asset.locator)") } else { missing.append(asset) }
    }
    ExampleProgram.report("\(missing.count) assets to upload, \(list.count) already uploaded")
    // The first error ends all uploads. The next start continues.
    try await withThrowingTaskGroup(of: Asset.self) { group in
        for (index, asset) in missing.enumerated() {
            // Four at a time, because small assets wait for responses most of the time.
            if index >= 4, let asset = try await group.next() { try list.add(asset) }
            group.addTask {
                var uploader = ResumableUploader(BlobUploadRequest(.post, url))
                uploader.stateFile = UploadStateFile(path: folder.appendingPathComponent("\(asset.id).upload").path)
                uploader.request.onProgress = {
                    ExampleProgram.report("\(asset.name ?? "-"): \($0) of \($1.map(String.init) ?? "?") bytes")
                }
                _ = try await uploader.upload(library.source(for: asset.id))
                return asset
            }
        }
        for try await asset in group { try list.add(asset) }
    }
    print("uploaded \(missing.count) assets")
}

/// A file with one line for each version of an asset that was uploaded. An asset that changes is uploaded again.
private final class UploadedList {
    private let lines: Set<String>
    private let output: FileHandle

    init(at path: String) throws {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        self.lines = Set(text.split(separator: "\n").map(String.init))
        self.output = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try self.output.seekToEnd()
    }

    var count: Int { self.lines.count }

    func contains(_ asset: Asset) -> Bool { self.lines.contains(Self.line(asset)) }

    func add(_ asset: Asset) throws { try self.output.write(contentsOf: Data("\(Self.line(asset))\n".utf8)) }

    private static func line(_ asset: Asset) -> String { "\(asset.id) \(asset.generation)" }
}
#else
/// Throws, because this build excludes asset libraries.
func uploadLibrary(_ path: String, to url: String, keepingStateIn state: String) async throws {
    throw BlobError(.unsupported, "This build does not support asset libraries.")
}
#endif
