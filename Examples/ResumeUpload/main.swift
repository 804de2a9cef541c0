import BlobStreamsStandard
import BlobTransfer
import Foundation

// Uploads a file by tus, and goes on where it was killed before: ResumeUpload film.mov https://host/files/ film.state
guard CommandLine.arguments.count == 4 else {
    report("usage: ResumeUpload FILE URL STATE")
    exit(64)
}
var uploader = ResumableUploader(BlobUploadRequest(.post, CommandLine.arguments[2]))
uploader.stateFile = UploadStateFile(path: CommandLine.arguments[3])
uploader.request.onProgress = { sent, byteCount in report("\(sent) of \(byteCount ?? 0) bytes") }
uploader.onRecovery = { error in report("goes on after: \(error)") }
let url = try await uploader.upload(FileSource(path: CommandLine.arguments[1]))
print("uploaded to \(url)")

@Sendable func report(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
