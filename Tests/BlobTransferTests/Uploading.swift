import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// Uploads, as a task.
@discardableResult
func upload(
    _ source: any BlobInputStreamDataSource, _ request: BlobUploadRequest, _ context: BlobContext = BlobContext()
) async throws -> BlobUploadResponse {
    try await BlobUploader().upload(source, with: request, context: context)
}

/// The error of an upload that must fail.
func failure(
    of source: any BlobInputStreamDataSource, _ request: BlobUploadRequest, _ context: BlobContext = BlobContext(),
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> BlobError {
    do {
        let response = try await upload(source, request, context)
        Issue.record("It succeeded with \(response.status).", sourceLocation: sourceLocation)
        return BlobError(.internalError, "No error.")
    } catch {
        return BlobError(wrapping: error)
    }
}

/// When an upload failed.
func timeOfFailure(
    of source: any BlobInputStreamDataSource, _ request: BlobUploadRequest, _ context: BlobContext
) async throws -> (code: BlobError.Code?, time: ContinuousClock.Instant) {
    do {
        try await upload(source, request, context)
        return (nil, .now)
    } catch {
        return (BlobError(wrapping: error).code, .now)
    }
}

/// More than the buffers of a connection hold.
let hugeSource = MemorySource(Data(count: 20_000_000))

/// The content of a chunked body behind a head; nil when it is not whole.
func dechunked(_ message: [UInt8]) -> [UInt8]? {
    guard let start = headCount(message.prefix(4096)) else { return nil }
    var rest = message[start...]
    var content: [UInt8] = []
    while let end = rest.firstIndex(of: UInt8(ascii: "\r")) {
        guard let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16) else { return nil }
        rest = rest[(end + 2)...]
        if count == 0 { return rest.count == 2 ? content : nil }
        guard rest.count >= count + 2 else { return nil }
        content += rest.prefix(count)
        rest = rest.dropFirst(count + 2)
    }
    return nil
}

/// The length of the head of a message, its blank line included; nil before its end.
func headCount(_ message: ArraySlice<UInt8>) -> Int? {
    var count = 0
    for line in message.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
        count += line.count + 1
        if line == [UInt8(ascii: "\r")] { return count <= message.count ? count : nil }
    }
    return nil
}
