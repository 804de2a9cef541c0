import BlobStreamsStandard
import BlobTransfer
import MultipartFormData

/// Sends the bytes as the part 'file' of a form, with the name and the media type that the source has.
func uploadForm(_ source: any BlobInputStreamDataSource, to url: String) async throws {
    var form = MultipartForm()
    try form.appendPart(source: source, name: "file")
    try await send(form.body(), .post, to: url)
}
