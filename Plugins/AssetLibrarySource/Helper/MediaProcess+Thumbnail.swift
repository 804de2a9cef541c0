import BlobCore
import BlobHelper
import Foundation
import HelperExchange

extension MediaProcess {
    /// The largest number of bytes of a thumbnail: far more than a JPEG of 1024 x 1024 pixels has.
    static let thumbnailByteLimit = 16 << 20

    /// Returns a small picture as JPEG: upright, in sRGB, without metadata; nil when a process for
    /// ``MediaTask/smallJPEGs`` declines.
    ///
    /// - Parameters:
    ///   - file: The open picture, for reading, at any position.
    ///   - size: The size of the square that it fits, in pixels; smaller pictures keep their size.
    ///   - orientation: The orientation of a JPEG, 1 to 8, for ``MediaTask/smallJPEGs``.
    ///   - meanwhile: Performed while the helper works.
    /// - Throws: ``BlobError/Code/corrupted`` when it is no picture or crashes the helper,
    ///   ``BlobError/Code/truncated`` when a part of it is missing, ``BlobError/Code/limitExceeded`` when it takes too
    ///   much memory; the errors of ``HelperProcess`` and of `meanwhile`.
    func thumbnail(
        of file: CInt, size: Int, orientation: Int = 1, meanwhile: () throws(BlobError) -> Void = {}
    ) throws(BlobError) -> Data? {
        let command = ExchangeFrame(.thumbnail, a: Int64(size), b: Int64(orientation))
        let output = try HelperOutput(
            of: self.process, to: command, descriptors: [file], [.done, .declined], Self.needsNothing)
        try meanwhile()
        var bytes = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try output.read(into: buffer), count > 0 {
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            guard bytes.count <= Self.thumbnailByteLimit else {
                throw BlobError(.corrupted, "The helper made a thumbnail of more than \(bytes.count) bytes.")
            }
        }
        if let answer = output.answer, answer.kind == .error {
            throw Self.error(answer, "The thumbnail cannot be made")
        }
        return output.answer?.kind == .declined ? nil : bytes
    }
}
