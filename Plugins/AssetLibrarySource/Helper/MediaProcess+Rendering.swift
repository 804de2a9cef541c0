import BlobCore
import BlobHelper
import HelperExchange
import MediaExchange

extension MediaProcess {
    /// Starts to render a picture as JPEG with its metadata.
    ///
    /// - Parameters:
    ///   - file: The open picture, for reading, at its beginning; may be closed after the call.
    ///   - steps: The steps of the recipe.
    ///   - quality: The quality as JPEG, 1 to 100.
    func rendering(
        of file: CInt, width: Int, height: Int, _ steps: [RenderStep], quality: Int
    ) throws(BlobError) -> RenderingOutput {
        let command = ExchangeFrame(
            .render, a: Int64(width), b: Int64(height), c: Int64(quality), payload: RenderStep.encoded(steps))
        return RenderingOutput(
            self, try HelperOutput(of: self.process, to: command, descriptors: [file], [.done], Self.needsNothing))
    }
}

/// The bytes of a picture that a helper renders. Ends the helper with itself.
final class RenderingOutput {
    private let process: MediaProcess
    private let output: HelperOutput

    fileprivate init(_ process: MediaProcess, _ output: HelperOutput) {
        (self.process, self.output) = (process, output)
    }

    /// Reads the next bytes; returns their number, 0 at the end.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when the picture cannot be decoded, ``BlobError/Code/limitExceeded`` when it
    ///   takes too much memory; the errors of ``HelperProcess``. What was read before an error is worthless.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        let count = try self.output.read(into: buffer)
        if count == 0, let answer = self.output.answer, answer.kind == .error {
            throw MediaProcess.error(answer, "The picture cannot be rendered")
        }
        return count
    }
}
