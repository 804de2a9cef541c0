import BlobStreamsStandard
import ExampleProgram
import Foundation
import MultipartFormData
import MultipartURLRequest

// Posts a locator as the part 'file' of a form with URLSession, as AFNetworking does with constructingBodyWithBlock:
// FormRequest 'assets-library://asset/asset.JPG?id=…&ext=JPG' http://127.0.0.1:8080/
ExampleProgram.run("FormRequest LOCATOR URL", taking: 2...2) { arguments, registry in
    let url = try ExampleProgram.serverURL(arguments[1])
    let asset = try registry.source(for: arguments[0])
    let info = try asset.info()
    var form = MultipartForm()
    // The length is announced and checked: a stream with fewer or more bytes throws an error.
    try form.appendPart(
        inputStream: BlobInputStream(asset), byteCount: info.byteCount, name: "file", fileName: info.name ?? "file",
        mediaType: info.mediaType)
    print(try StreamedUpload(URLRequest(posting: form.body(), to: url)).answer())
}
