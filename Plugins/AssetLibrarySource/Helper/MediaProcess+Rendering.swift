import BlobCore
import BlobHelper
import HelperExchange

/// A picture to render as JPEG with its metadata.
struct RenderingJob {
    /// The size of the decoded picture.
    var width: Int
    var height: Int
    var steps: [RenderStep]
    /// The quality as JPEG, 1 to 100.
    var quality: Int
    /// The orientation, and the crop after it, of a JPEG for which nothing else is done; nil for any other.
    var lossless: (orientation: Int, crop: [RenderStep])?
}

/// The bytes of a picture that a helper renders. Ends the helper with itself.
final class RenderingOutput {
    /// The memory for the coefficients of a JPEG that is turned without loss, in bytes: 24 megapixels in 4:2:0.
    private static let coefficientByteCount = 144 << 20

    private let process: MediaProcess
    private let file: CInt
    private let job: RenderingJob
    private var output: HelperOutput

    /// Starts the work.
    ///
    /// - Parameter file: The open picture, for reading, at its beginning; stays open as long as this object is read.
    init(_ process: MediaProcess, _ file: CInt, _ job: RenderingJob) throws(BlobError) {
        (self.process, self.file, self.job) = (process, file, job)
        if let lossless = job.lossless {
            let command = ExchangeFrame(
                .transform, a: Int64(lossless.orientation), b: Int64(Self.coefficientByteCount),
                payload: RenderStep.encoded(lossless.crop))
            self.output = try HelperOutput(
                of: process.process, to: command, descriptors: [file], [.done, .declined], MediaProcess.needsNothing)
        } else {
            self.output = try Self.rendering(process, file, job)
        }
    }

    private static func rendering(
        _ process: MediaProcess, _ file: CInt, _ job: RenderingJob
    ) throws(BlobError) -> HelperOutput {
        let command = ExchangeFrame(
            .render, a: Int64(job.width), b: Int64(job.height), c: Int64(job.quality),
            payload: RenderStep.encoded(job.steps))
        return try HelperOutput(
            of: process.process, to: command, descriptors: [file], [.done], MediaProcess.needsNothing)
    }

    /// Reads the next bytes; returns their number, 0 at the end.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when the picture cannot be decoded, ``BlobError/Code/truncated`` when a part
    ///   of it is missing, ``BlobError/Code/limitExceeded`` when it takes too much memory; the errors of
    ///   ``HelperProcess``. What was read before an error is worthless.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        while true {
            let count = try self.output.read(into: buffer)
            guard count == 0, let answer = self.output.answer else { return count }
            switch answer.kind {
            case .error: throw MediaProcess.error(answer, "The picture cannot be rendered")
            case .declined: self.output = try Self.rendering(self.process, self.file, self.job)
            default: return 0
            }
        }
    }
}
