import BlobCore
import BlobReceiving
import CryptoDigest
import Foundation
import Hummingbird
import S3Source
import Synchronization

// Stores the files of a form in a bucket while they arrive: without temporary files, and with one part of an object in
// memory. An object appears once its file has arrived completely, and remains if a later file fails. The store and its
// keys are found as by the AWS tools (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and so on).
//
// FormToS3 s3://bucket/prefix/ [PORT]
// curl -F film=@film.mov -F photo=@photo.jpg http://127.0.0.1:PORT/upload

struct StoredFile: ResponseEncodable {
    let name, object, sha256: String
    let byteCount: Int64
}

let arguments = CommandLine.arguments
guard (2...3).contains(arguments.count), let port = Int(arguments.count == 3 ? arguments[2] : "0") else {
    FileHandle.standardError.write(Data("usage: FormToS3 s3://BUCKET/PREFIX/ [PORT]\n".utf8))
    exit(64)
}
let (prefix, uploader, router) = (arguments[1], try S3Uploader(), Router())
let plainCharacters = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._"))

/// Stores the files of a form, and returns them once all are stored.
@Sendable func store(_ body: RequestBody, _ boundary: String) async throws -> [StoredFile] {
    var files: [StoredFile] = []
    for try await part in try MultipartParts(of: body.map(\.readableBytesView), boundary: boundary) {
        guard let name = part.filename, let key = name.addingPercentEncoding(withAllowedCharacters: plainCharacters)
        else { continue }
        let sha256 = Mutex("")
        let source = part.source.hashing(with: CryptoDigest.sha256) { digest in
            sha256.withLock { $0 = digest.map { String(format: "%02x", $0) }.joined() }
        }
        let object = try await uploader.upload(source, to: prefix + key)
        files.append(
            StoredFile(
                name: name, object: object.locator, sha256: sha256.withLock { $0 }, byteCount: object.byteCount))
    }
    return files
}

router.post("upload") { request, _ in
    do {
        if let boundary = try request.headers[.contentType].flatMap(MultipartHeader.boundary) {
            return try await store(request.body, boundary)
        }
    } catch let error as BlobError {
        let isOfStore = error.operation == "write"
        throw HTTPError(isOfStore ? .badGateway : .init(code: error.answer.status), message: error.message)
    }
    throw HTTPError(.unsupportedMediaType, message: "Send a form: multipart/form-data.")
}

try await Application(
    router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
    onServerRunning: { channel in
        let url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/upload\n"
        FileHandle.standardOutput.write(Data(url.utf8))
    }
).runService()
