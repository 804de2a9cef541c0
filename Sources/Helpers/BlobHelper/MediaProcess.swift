package import BlobCore
package import HelperExchange

/// A process of `blob-media-helper`, which decodes untrusted pictures, for any number of files. Has one owner.
///
/// It can access only the files that are sent to it, has no network, and on Linux can make only the system calls that
/// it needs.
package final class MediaProcess {
    /// The default memory limit for decoding, in bytes, beyond the memory of the program and its libraries.
    package static let memoryByteCount = 512 << 20

    package static let location = HelperLocation("blob-media-helper", variable: "BLOB_MEDIA_HELPER")

    /// The limits of one command. A picture of 100 megapixels takes some seconds.
    package static let limits = {
        var limits = HelperLimits()
        limits.maximumProcessorTime = 60_000
        limits.maximumSilence = .seconds(20)
        return limits
    }()

    /// The version of the library that the helper runs.
    package let libraryVersion: String
    fileprivate let process: HelperProcess
    /// The error after which the helper no longer runs; nil while it runs.
    package var failure: BlobError? { self.process.failure }

    /// Starts a helper.
    ///
    /// - Parameters:
    ///   - path: The path of the program; nil to search for it.
    ///   - variables: Further environment variables.
    ///   - fault: A fault for tests.
    /// - Throws: ``BlobError/Code/unavailable`` if the helper is not found or is of another version, if its library is
    ///   missing, or if the system does not confine it and the context does not allow that; errors of
    ///   ``HelperProcess``.
    package init(
        for task: MediaTask, at path: String? = nil, memoryByteCount: Int = memoryByteCount,
        limits: HelperLimits = limits, variables: [String] = [], fault: String? = nil, _ context: BlobContext
    ) throws(BlobError) {
        guard let found = Self.location.find(path) else {
            throw BlobError(
                .unavailable, "Media is decoded by a helper process, but \(Self.location.searchDescription(path)).",
                isTransient: false)
        }
        let arguments = [task.rawValue, String(memoryByteCount)] + [fault].compactMap { $0 }
        self.process = try HelperProcess(found, arguments, variables: variables, limits: limits, context)
        if let missing = try self.process.confinement().missingConfinement, !context.allowsUnconfinedMedia {
            throw BlobError(
                .unavailable, "Media is decoded by a helper process, but the system does not confine it: \(missing).",
                isTransient: false, remedy: .formatInProcess("media"))
        }
        let answer = try self.process.answer(to: ExchangeFrame(.open, a: ExchangeFrame.version), [.opened])
        guard answer.kind == .opened else { throw Self.error(answer, "Could not decode media") }
        self.libraryVersion = String(decoding: answer.payload, as: UTF8.self)
    }

    /// Creates the error for an answer that reports a failure.
    ///
    /// - Parameter act: The beginning of the message: `The thumbnail cannot be made`.
    fileprivate static func error(_ answer: ExchangeFrame, _ act: String) -> BlobError {
        let text = String(decoding: answer.payload, as: UTF8.self)
        return switch ExchangeFrame.Failure(rawValue: answer.a) {
        case .library: BlobError(.corrupted, "\(act): \(text).")
        case .unavailable: BlobError(.unavailable, "\(act): \(text).", isTransient: false)
        case .limit: BlobError(.limitExceeded, "\(act) within the memory limit of the helper: \(text).")
        case .truncated: BlobError(.truncated, "\(act), because the file ends too early: \(text).")
        case nil: BlobError(.corrupted, "\(act): the helper sent an invalid response.")
        }
    }

    /// The largest file whose facts are read, in bytes: the helper maps it.
    private static let factsByteLimit: Int64 = 256 << 20

    /// Returns the facts from a picture's Exif, XMP and IPTC.
    ///
    /// - Parameters:
    ///   - file: The file, open for reading.
    ///   - byteCount: The length of the file in bytes.
    /// - Throws: ``BlobError/Code/corrupted`` if the file has no readable metadata or crashes the helper,
    ///   ``BlobError/Code/limitExceeded`` for a file of more than ``factsByteLimit`` bytes; errors of
    ///   ``HelperProcess``.
    package func facts(of file: CInt, byteCount: Int64) throws(BlobError) -> MediaFacts {
        guard byteCount <= Self.factsByteLimit else {
            throw BlobError(
                .limitExceeded,
                "The file has \(byteCount) bytes, "
                    + "more than the limit of \(Self.factsByteLimit) for reading its metadata."
            )
        }
        let act = "Could not read the metadata of the file"
        let answer = try self.process.answer(
            to: ExchangeFrame(.facts, a: byteCount), descriptors: [file], [.facts])
        guard answer.kind == .facts else { throw Self.error(answer, act) }
        guard let facts = MediaFacts(encoded: answer.payload) else {
            throw BlobError(.corrupted, "\(act): the helper sent an invalid response.")
        }
        return facts
    }

    /// The maximum length of a thumbnail in bytes, far more than a JPEG of 1024 x 1024 pixels needs.
    package static let maximumThumbnailByteCount = 16 << 20

    /// Returns a small picture as JPEG: upright, in sRGB, without metadata; nil if a process for
    /// ``MediaTask/smallJPEGs`` declines.
    ///
    /// - Parameters:
    ///   - file: The picture, open for reading, at any position.
    ///   - size: The side of the square into which the thumbnail fits, in pixels; smaller pictures are not enlarged.
    ///   - orientation: The orientation of a JPEG, 1 to 8, for ``MediaTask/smallJPEGs``.
    ///   - meanwhile: A closure that is called while the helper works.
    /// - Throws: ``BlobError/Code/corrupted`` if the file is not a picture or crashes the helper,
    ///   ``BlobError/Code/truncated`` if it is incomplete, ``BlobError/Code/limitExceeded`` if decoding takes too much
    ///   memory; errors of ``HelperProcess`` and of `meanwhile`.
    package func thumbnail(
        of file: CInt, size: Int, orientation: Int = 1, meanwhile: () throws(BlobError) -> Void = {}
    ) throws(BlobError) -> [UInt8]? {
        let command = ExchangeFrame(.thumbnail, a: Int64(size), b: Int64(orientation))
        let output = try HelperOutput(
            of: self.process, to: command, descriptors: [file], [.done, .declined])
        try meanwhile()
        var bytes: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try output.read(into: buffer), count > 0 {
            bytes += buffer[..<count]
            guard bytes.count <= Self.maximumThumbnailByteCount else {
                throw BlobError(
                    .corrupted,
                    "The thumbnail from the helper exceeds the limit of \(Self.maximumThumbnailByteCount) bytes."
                )
            }
        }
        if let answer = output.answer, answer.kind == .error {
            throw Self.error(answer, "Could not create the thumbnail")
        }
        return output.answer?.kind == .declined ? nil : bytes
    }
}

/// The bytes of a picture that a helper renders as JPEG with its metadata. Ends the helper when released.
package final class RenderingOutput {
    /// The memory for the coefficients of a JPEG that is turned losslessly, in bytes: 24 megapixels in 4:2:0.
    private static let coefficientByteCount = 144 << 20

    private let process: MediaProcess
    private let file: CInt
    private let rendering: ExchangeFrame
    private var output: HelperOutput

    /// Starts rendering. A JPEG that is only turned and cropped is not decoded if its blocks allow that.
    ///
    /// - Parameters:
    ///   - file: The picture, open for reading, at its beginning; it must stay open while this object is read.
    ///   - size: The size of the decoded picture.
    ///   - quality: The quality of the JPEG, 1 to 100.
    package init(
        _ process: MediaProcess, _ file: CInt, _ plan: RenderPlan, of size: PictureSize, isJPEG: Bool, quality: Int
    ) throws(BlobError) {
        (self.process, self.file) = (process, file)
        self.rendering = ExchangeFrame(
            .render, a: Int64(size.width), b: Int64(size.height), c: Int64(quality),
            payload: RenderStep.encoded(plan.steps.map(RenderStep.init)))
        guard isJPEG, let turn = plan.turnAndCrop else {
            self.output = try HelperOutput(
                of: process.process, to: self.rendering, descriptors: [file], [.done])
            return
        }
        // Cropped after the turn.
        let crop = turn.crop.map { turn.orientation.inverse.preimage(of: $0, in: turn.orientation.applied(to: size)) }
        let command = ExchangeFrame(
            .transform, a: Int64(turn.orientation.number), b: Int64(Self.coefficientByteCount),
            payload: RenderStep.encoded(crop.map { [RenderStep(.crop($0))] } ?? []))
        self.output = try HelperOutput(
            of: process.process, to: command, descriptors: [file], [.done, .declined])
    }

    /// Reads the next bytes; returns their number, 0 at the end.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the picture cannot be decoded, ``BlobError/Code/truncated`` if it is
    ///   incomplete, ``BlobError/Code/limitExceeded`` if decoding takes too much memory; errors of ``HelperProcess``.
    ///   Bytes read before an error must not be used.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        while true {
            let count = try self.output.read(into: buffer)
            guard count == 0, let answer = self.output.answer else { return count }
            switch answer.kind {
            case .error: throw MediaProcess.error(answer, "Could not render the picture")
            case .declined:
                self.output = try HelperOutput(
                    of: self.process.process, to: self.rendering, descriptors: [self.file], [.done])
            default: return 0
            }
        }
    }
}

extension RenderStep {
    fileprivate init(_ step: RenderPlan.Step) {
        self =
            switch step {
            case .crop(let crop): .crop(left: crop.left, top: crop.top, width: crop.width, height: crop.height)
            case .orientation(let orientation): .orientation(orientation.number)
            case .affine(let matrix, let size): .affine(matrix.numbers, width: size.width, height: size.height)
            case .table(let table): .table(table)
            }
    }
}
