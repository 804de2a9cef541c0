import BlobStreamsStandard
import BlobURLSession
import Foundation
import MultipartFormData
import MultipartURLRequest

guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else { exit(64) }
var form = MultipartForm()
try form.appendPart(value: "Holidays", name: "title")
// Neither in memory nor in a temporary file: the member is read while the form is sent.
try form.appendPart(source: BlobRegistry.standard.source(for: "backup.tgz#photos/1.jpg"), name: "photo")
let body = try form.body()
let request = URLRequest(posting: body, to: url)  // Its httpBodyStream is a BlobInputStream.
let (answer, response) = try await URLSessionUploader().upload(body, with: request)
print(response.statusCode, String(decoding: answer, as: UTF8.self))
