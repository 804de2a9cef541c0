import BlobStreamsStandard
import BlobTransfer
import ExampleProgram
import Foundation
import MultipartFormData

// Uploads with libcurl in six ways, each a function of its own.
let usage = """
    Upload raw LOCATOR URL
           Upload form LOCATOR URL
           Upload mapped FILE URL
           Upload resume LOCATOR URL STATE-FILE
           Upload library LIBRARY URL STATE-FOLDER
           Upload folder FOLDER s3://BUCKET/PREFIX/
    """
await ExampleProgram.run(usage, taking: 3...4) { arguments, registry in
    let (command, rest) = (arguments[0], Array(arguments.dropFirst()))
    switch (command, rest.count) {
    case ("raw", 2): try await uploadRaw(registry.source(for: rest[0]), to: rest[1])
    case ("form", 2): try await uploadForm(registry.source(for: rest[0]), to: rest[1])
    case ("mapped", 2): try await uploadMapped(rest[0], to: rest[1])
    case ("resume", 3): try await resume(registry.source(for: rest[0]), to: rest[1], keepingStateIn: rest[2])
    case ("library", 3): try await uploadLibrary(rest[0], to: rest[1], keepingStateIn: rest[2])
    case ("folder", 2): try await uploadFolder(rest[0], to: rest[1])
    default: throw BlobError(.invalidArgument, "Unknown command '\(command)', or the wrong number of arguments.")
    }
}

/// Uploads a source as a request body, reports the progress, and prints the response.
func send(_ source: any BlobInputStreamDataSource, _ method: BlobUploadRequest.Method, to url: String) async throws {
    var request = BlobUploadRequest(method, url)
    request.onProgress = { sent, byteCount in
        ExampleProgram.report("\(sent) of \(byteCount.map(String.init) ?? "?") bytes")
    }
    do {
        let response = try await BlobUploader().upload(source, with: request)
        print(response.status, text(of: response))
    } catch {
        // If a server refuses the upload, its response may contain the reason.
        if let refusal = error.cause as? BlobUploadRefusal {
            print(refusal.response.status, text(of: refusal.response))
        }
        throw error
    }
}

func text(of response: BlobUploadResponse) -> String {
    String(decoding: response.body, as: UTF8.self).trimmingCharacters(in: .newlines)
}

/// Sends the bytes as they are.
func uploadRaw(_ source: any BlobInputStreamDataSource, to url: String) async throws {
    try await send(source, .put, to: url)
}

/// Sends the bytes as the part 'file' of a form, with the name and the media type of the source.
func uploadForm(_ source: any BlobInputStreamDataSource, to url: String) async throws {
    var form = MultipartForm()
    try form.appendPart(source: source, name: "file")
    try await send(form.body(), .post, to: url)
}

/// Sends a file that is mapped into memory, as application/octet-stream.
///
/// Pages are read as they are sent, and need no memory of their own. If another process shortens the file in the
/// meantime, a signal ends this process. With `FileSource`, which does not map the file, that would be an error.
func uploadMapped(_ path: String, to url: String) async throws {
    let info = try FileSource(path: path).info()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
    try await send(MemorySource(bytes, mediaType: "application/octet-stream", name: info.name), .post, to: url)
}

/// Sends the bytes with tus. If started again with the same state, sends only the bytes that the server lacks.
func resume(_ source: any BlobInputStreamDataSource, to url: String, keepingStateIn path: String) async throws {
    var uploader = ResumableUploader(BlobUploadRequest(.post, url))
    uploader.stateFile = UploadStateFile(path: path)
    uploader.request.onProgress = { sent, byteCount in
        ExampleProgram.report("\(sent) of \(byteCount.map(String.init) ?? "?") bytes")
    }
    uploader.onRetry = { error in ExampleProgram.report("continuing after an error: \(error)") }
    print("uploaded to \(try await uploader.upload(source))")
}
