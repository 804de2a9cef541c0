import BlobStreamsStandard
import ExampleProgram
import Foundation

// Posts a locator with URLSession as application/octet-stream, without a temporary file:
// StreamedRequest 'assets-library://asset/asset.JPG?id=…&ext=JPG' http://127.0.0.1:8080/
ExampleProgram.run("StreamedRequest LOCATOR URL", taking: 2...2) { arguments, registry in
    var request = URLRequest(url: try ExampleProgram.serverURL(arguments[1]))
    request.httpMethod = "POST"
    request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
    // Synchronous, because CFNetwork and libcurl poll, so a stream that has no bytes yet must make them wait.
    request.httpBodyStream = try BlobInputStream(arguments[0], registry: registry, mode: .synchronous)
    print(try StreamedUpload(request).answer())
}
