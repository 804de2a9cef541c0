import BlobStreamsStandard
import BlobTransfer
import ExampleProgram

/// Sends the bytes by tus; started again with the same state, it sends only what the server does not have.
func resume(_ source: any BlobInputStreamDataSource, to url: String, keepingStateIn path: String) async throws {
    var uploader = ResumableUploader(BlobUploadRequest(.post, url))
    uploader.stateFile = UploadStateFile(path: path)
    uploader.request.onProgress = { sent, byteCount in ExampleProgram.report("\(sent) of \(byteCount ?? 0) bytes") }
    uploader.onRecovery = { error in ExampleProgram.report("continues after: \(error)") }
    print("uploaded to \(try await uploader.upload(source))")
}
