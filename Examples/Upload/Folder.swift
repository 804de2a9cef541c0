import BlobStreamsStandard
import ExampleProgram
import Foundation
import S3Source

/// Stores the files of a folder in an S3 bucket, four at a time.
///
/// The environment variables `AWS_ENDPOINT_URL_S3`, `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` specify the service
/// and its keys, as for the AWS tools.
func uploadFolder(_ folder: String, to prefix: String) async throws {
    guard prefix.hasSuffix("/") else {
        throw BlobError(.invalidArgument, "The prefix '\(prefix)' must end with '/'.")
    }
    let files = try files(in: folder)
    let uploader = try S3Uploader()
    let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
    /// Stores a file. If that fails, prints and returns the error.
    @Sendable func store(_ path: String) async -> BlobError? {
        let key = path.addingPercentEncoding(withAllowedCharacters: unreserved) ?? path
        do throws(BlobError) {
            let object = try await uploader.upload(FileSource(path: "\(folder)/\(path)"), to: prefix + key)
            print(object.entityTag, object.byteCount, object.locator)
            return nil
        } catch {
            ExampleProgram.report("\(error)")
            return error
        }
    }
    let errors = await withTaskGroup(of: BlobError?.self) { group in
        var errors: [BlobError] = []
        for (number, path) in files.enumerated() {
            if number >= 4, let error = await group.next() ?? nil { errors.append(error) }
            group.addTask { await store(path) }
        }
        for await error in group { if let error { errors.append(error) } }
        return errors
    }
    if let first = errors.first { throw BlobError(first.code, "\(errors.count) of \(files.count) files failed.") }
}

/// Returns the paths of the files in a folder, relative to the folder.
private func files(in folder: String) throws(BlobError) -> [String] {
    func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
    guard isFolder(folder) else { throw BlobError(.notFound, "The folder '\(folder)' was not found.") }
    let paths = (FileManager.default.enumerator(atPath: folder)?.allObjects ?? []).compactMap { $0 as? String }
    return paths.filter { !isFolder("\(folder)/\($0)") }.sorted()
}
