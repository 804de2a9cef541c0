import BlobStreamsStandard
import BlobTransfer
import Foundation

// Uploads all assets of a library by tus, without a copy of any: UploadLibrary LIBRARY URL STATE-FOLDER
//
// Killed and started again with the same folder, it sends only what the server does not have.
guard CommandLine.arguments.count == 4 else {
    report("usage: UploadLibrary LIBRARY URL STATE-FOLDER")
    exit(64)
}
let library = try AssetLibrary(at: URL(fileURLWithPath: CommandLine.arguments[1]))
let folder = URL(fileURLWithPath: CommandLine.arguments[3])
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

// A line for each content of an asset that the server has: an asset that changes is uploaded again.
let list = folder.appendingPathComponent("uploaded").path
if !FileManager.default.fileExists(atPath: list) { _ = FileManager.default.createFile(atPath: list, contents: nil) }
let uploaded = try Set(String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").map(String.init))
let output = try FileHandle(forUpdating: URL(fileURLWithPath: list))
try output.seekToEnd()

var missing: [Asset] = []
try library.forEachAsset { asset in
    guard !uploaded.contains(line(asset)) else { return }
    if asset.isMissing { report("missing: \(asset.locator)") } else { missing.append(asset) }
}
report("\(missing.count) assets to upload, \(uploaded.count) uploaded before")
// The first error ends all; the next start goes on.
try await withThrowingTaskGroup(of: Asset.self) { group in
    for (index, asset) in missing.enumerated() {
        // Four at a time: small ones wait for answers most of the time.
        if index >= 4, let asset = try await group.next() { try note(asset) }
        group.addTask {
            var uploader = ResumableUploader(BlobUploadRequest(.post, CommandLine.arguments[2]))
            uploader.stateFile = UploadStateFile(path: folder.appendingPathComponent("\(asset.id).upload").path)
            uploader.request.onProgress = { report("\(asset.name ?? "-"): \($0) of \($1 ?? 0) bytes") }
            _ = try await uploader.upload(library.source(for: asset.id))
            return asset
        }
    }
    for try await asset in group { try note(asset) }
}
print("uploaded \(missing.count) assets")

func line(_ asset: Asset) -> String { "\(asset.id) \(asset.generation)" }

func note(_ asset: Asset) throws { try output.write(contentsOf: Data("\(line(asset))\n".utf8)) }

@Sendable func report(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
