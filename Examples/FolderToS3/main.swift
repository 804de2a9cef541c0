import BlobStreamsStandard
import Foundation
import S3Source

// Stores the files below a folder, four at once: FolderToS3 photos s3://bucket/photos/
// The store and the keys are those of AWS's tools: AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.
guard CommandLine.arguments.count == 3, CommandLine.arguments[2].hasSuffix("/") else {
    FileHandle.standardError.write(Data("usage: FolderToS3 FOLDER s3://BUCKET/PREFIX/\n".utf8))
    exit(64)
}
let (folder, prefix) = (CommandLine.arguments[1], CommandLine.arguments[2])
let uploader = try S3Uploader()
let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
let paths = (FileManager.default.enumerator(atPath: folder)?.allObjects ?? []).compactMap { $0 as? String }.sorted()

/// Stores a file; returns false, and prints the error, if that fails.
@Sendable func store(_ path: String) async -> Bool {
    let source = FileSource(path: "\(folder)/\(path)")
    let key = path.addingPercentEncoding(withAllowedCharacters: unreserved) ?? path
    do {
        let object = try await uploader.upload(source, to: prefix + key)
        print(object.entityTag, object.byteCount, object.locator)
        return true
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        return false
    }
}

let files = paths.filter { !isFolder($0) }
let areStored = await withTaskGroup(of: Bool.self) { group in
    var areStored = true
    for (number, path) in files.enumerated() {
        if number >= 4, await group.next() == false { areStored = false }
        group.addTask { await store(path) }
    }
    for await isStored in group where !isStored { areStored = false }
    return areStored
}
if !areStored { exit(1) }

func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder) && isFolder.boolValue
}
