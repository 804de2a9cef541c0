import BlobStreamsStandard
import BlobTransfer
import Foundation
import MultipartFormData

// Sends a photo of a library as a part of a form: UploadAsset LIBRARY ASSET-URL SERVER-URL
guard CommandLine.arguments.count == 4 else {
    print("usage: UploadAsset LIBRARY ASSET-URL SERVER-URL")
    exit(64)
}
var registry = BlobRegistry.standard
try registry.register(.assetLibrary(at: URL(fileURLWithPath: CommandLine.arguments[1])))

// Length, name and media type come from the asset; its bytes are checked against its digest while they are sent.
let asset = try registry.source(for: CommandLine.arguments[2])
var form = MultipartForm()
try form.appendPart(source: asset, name: "file")
let body = try form.body()

var request = BlobUploadRequest(.post, CommandLine.arguments[3])
request.onProgress = { sent, byteCount in
    FileHandle.standardError.write(Data("\r\(sent) of \(byteCount.map(String.init) ?? "?") bytes".utf8))
}
do {
    let response = try await BlobUploader().upload(body, with: request)
    print(response.status, String(decoding: response.body, as: UTF8.self))
} catch {
    print(error)
    exit(1)
}
