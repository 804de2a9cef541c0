import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

/// A sender of requests about resumable uploads, each to another receiver of the same folder: what is known is what is
/// on the disk.
struct ResumableSender {
    let folder: TemporaryFolder
    var maximumByteCount: Int64 = 1000
    /// The fields of all requests.
    var fields: [String: String]

    var uploads: ResumableUploads {
        ResumableUploads(in: UploadFolder(self.folder.path), maximumByteCount: self.maximumByteCount)
    }

    /// Carries out a request whose body comes in pieces.
    @discardableResult func send(
        _ method: String, _ path: String, _ fields: [String: String] = [:], _ pieces: String...,
        to uploads: ResumableUploads? = nil
    ) throws -> RequestAnswer {
        let receiver = try self.begin(method, path, fields, to: uploads)
        for piece in pieces { try receiver.receive(piece) }
        return try receiver.answer()
    }

    func begin(
        _ method: String, _ path: String, _ fields: [String: String] = [:], to uploads: ResumableUploads? = nil
    ) throws -> any BodyReceiver {
        let all = self.fields.merging(fields) { $1 }.filter { $0.value != "-" }.map { (name: $0.key, value: $0.value) }
        let request = try #require(ResumableUploads.request(RequestHead(method: method, target: path, fields: all)))
        return try request.makeReceiver(in: uploads ?? self.uploads)
    }

    /// Begins a request, and cuts it.
    func cut(_ method: String, _ path: String, _ fields: [String: String] = [:], _ piece: String) throws {
        let receiver = try self.begin(method, path, fields)
        try receiver.receive(piece)
        receiver.abandon()
    }

    /// Returns the refusal of what `body` does.
    @discardableResult func expectRefusal(
        _ status: Int, line: Int = #line, _ body: () throws -> Void
    ) -> RequestRefusal? {
        do {
            try body()
            Issue.record("The request in line \(line) was accepted.")
            return nil
        } catch {
            let refusal = BlobError(wrapping: error).cause as? RequestRefusal
            #expect(refusal?.status == status, "line \(line): \(error)")
            return refusal
        }
    }

    /// The name of the hidden file of an upload.
    static func fileName(_ path: String) -> String { ".\(path.dropFirst("/files/".count)).upload" }
}

extension RequestAnswer {
    subscript(_ name: String) -> String? { self.fields.first { $0.name == name }?.value }
}

extension BodyReceiver {
    func receive(_ text: String) throws { try Array(text.utf8).withUnsafeBytes { try self.receive($0) } }
}
