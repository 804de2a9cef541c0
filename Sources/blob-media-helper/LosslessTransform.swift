internal import CTurboJPEG
internal import HelperExchange

/// Turns and crops a JPEG without loss, if its blocks allow that, and writes it with its metadata to a pipe.
func transform(_ command: ExchangeFrame, of file: CInt, to pipe: CInt) throws(MediaFailure) -> ExchangeFrame {
    var crop = blob_jpeg_crop(left: 0, top: 0, width: 0, height: 0)
    guard (1...8).contains(command.a), command.b > 0, let steps = RenderStep.decoded(command.payload) else {
        throw MediaFailure(.library, "the steps of a transformation make no sense")
    }
    if case .crop(let left, let top, let width, let height)? = steps.first {
        crop = blob_jpeg_crop(left: CInt(left), top: CInt(top), width: CInt(width), height: CInt(height))
    }
    let result = blob_jpeg_transform(file, pipe, CInt(command.a), crop, Int(command.b))
    return ExchangeFrame(result == blob_jpeg_done ? .done : .declined)
}
