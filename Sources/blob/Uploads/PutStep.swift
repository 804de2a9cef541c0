import ArgumentParser
import BlobPlatform
import BlobStreamsStandard

/// A step of `blob put` for sources whose parts are tasks of their own.
enum PutStep: String, ExpressibleByArgument, CaseIterable {
    case begin, parts, finish, abort
}

/// A part of a source as a line of a list, with all that another process needs to store it.
struct PutPart: Codable {
    let locator: String
    /// The identifier that the store gave the upload.
    let upload: String
    /// The number of the part, from 1.
    let part: Int
    /// The bytes of this part, which weigh it among others.
    let length: Int64
    /// The bytes of the source, and of each part but the last.
    let bytes, partSize: Int64
    /// The token of the source's validator.
    let validator: String

    init(_ locator: String, _ upload: DividedUpload, part: Int, length: Int) {
        (self.locator, self.upload, self.part, self.length) = (locator, upload.identifier, part, Int64(length))
        (self.bytes, self.partSize, self.validator) = (upload.byteCount, upload.partByteCount, upload.validator)
    }

    /// Creates a part from its line; nil for another line, which is a locator.
    init?(line: String) {
        guard line.hasPrefix("{") else { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let part = try? decoder.decode(PutPart.self, from: Data(line.utf8)) else { return nil }
        self = part
    }

    /// Returns the upload that stores the object under a URL.
    func divided(_ url: String) -> DividedUpload {
        DividedUpload(
            object: url, identifier: self.upload, byteCount: self.bytes, partByteCount: self.partSize,
            validator: self.validator)
    }
}
