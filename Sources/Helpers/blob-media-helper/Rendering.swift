internal import CTurboJPEG
internal import CVips
internal import HelperExchange

/// Performs the steps of a recipe, and writes the picture with its metadata as JPEG to a pipe.
///
/// Rows are decoded, changed and encoded one after the other as far as the steps allow; a step that moves pixels
/// between rows holds the picture, as cropped so far, in memory.
func render(_ command: ExchangeFrame, of file: CInt, to pipe: CInt) throws(HelperFailure) -> ExchangeFrame {
    guard let steps = RenderStep.decoded(command.payload), (1...100).contains(command.c) else {
        throw HelperFailure(.library, "the rendering steps are invalid")
    }
    return try decoding(file) { source throws(HelperFailure) in try render(source, steps, command, to: pipe) }
}

private func render(
    _ source: OpaquePointer, _ steps: [RenderStep], _ command: ExchangeFrame, to pipe: CInt
) throws(HelperFailure) -> ExchangeFrame {
    let picture = RenderedPicture(try opened(blob_vips_open(source)))
    guard (Int64(picture.width), Int64(picture.height)) == (command.a, command.b) else {
        throw HelperFailure(
            .library, "the picture has \(picture.width)x\(picture.height) pixels, not \(command.a)x\(command.b)")
    }
    try picture.reduce()
    for step in steps { try picture.perform(step) }
    guard let target = blob_vips_target_new_to_descriptor(pipe) else { throw vipsFailure() }
    defer { blob_g_object_unref(UnsafeMutableRawPointer(target)) }
    try picture.save(to: target, quality: CInt(command.c))
    return ExchangeFrame(.done, a: Int64(picture.width), b: Int64(picture.height))
}

private func opened(_ image: OpaquePointer?) throws(HelperFailure) -> OpaquePointer {
    guard let image else { throw vipsFailure() }
    return image
}

/// A picture that each step replaces with a new one. Owns the image of libvips.
private final class RenderedPicture {
    private var image: OpaquePointer
    private var isInMemory = false

    init(_ image: OpaquePointer) { self.image = image }

    deinit { blob_g_object_unref(UnsafeMutableRawPointer(self.image)) }

    var width: CInt { blob_vips_image_get_width(self.image) }
    var height: CInt { blob_vips_image_get_height(self.image) }

    private func replace(_ make: (OpaquePointer) -> OpaquePointer?) throws(HelperFailure) {
        let next = try opened(make(self.image))
        blob_g_object_unref(UnsafeMutableRawPointer(self.image))
        self.image = next
    }

    /// Converts the samples to 8 bits of red, green and blue or grey.
    func reduce() throws(HelperFailure) {
        let space = blob_vips_image_get_interpretation(self.image)
        guard space != CInt(blob_vips_cmyk) else {
            throw HelperFailure(.library, "pictures for print (CMYK) are not supported")
        }
        let isPlain =
            [blob_vips_grey, blob_vips_srgb].contains(Int(space))
            && blob_vips_image_get_format(self.image) == CInt(blob_vips_bytes)
        if !isPlain || blob_vips_image_hasalpha(self.image) != 0 { try self.replace { blob_vips_reduce($0) } }
    }

    func perform(_ step: RenderStep) throws(HelperFailure) {
        switch step {
        case .crop(let left, let top, let width, let height):
            try self.replace { blob_vips_crop($0, CInt(left), CInt(top), CInt(width), CInt(height)) }
        case .table(let table): try self.map(table)
        case .orientation(let number):
            try self.keepInMemory()
            let quarters: CInt = [0, 0, 2, 0, 1, 1, 1, 3][number - 1]
            if quarters > 0 { try self.replace { blob_vips_turn($0, quarters) } }
            if [2, 4, 5, 7].contains(number) { try self.replace { blob_vips_mirror($0, number == 4 || number == 7) } }
        case .affine(let numbers, let width, let height):
            try self.keepInMemory()
            let (a, b, c, d) = (numbers[0], numbers[1], numbers[2], numbers[3])
            // Converted to coordinates in which the centre of the first pixel is at (0, 0).
            let matrix = [a, c, b, d, (a + c - 1) / 2 + numbers[4], (b + d - 1) / 2 + numbers[5]]
            try self.replace { blob_vips_affine($0, matrix, CInt(width), CInt(height)) }
        }
    }

    private func map(_ table: [UInt8]) throws(HelperFailure) {
        let map = try opened(
            blob_vips_image_new_from_memory_copy(table, table.count, 256, 1, 1, CInt(blob_vips_bytes)))
        defer { blob_g_object_unref(UnsafeMutableRawPointer(map)) }
        try self.replace { blob_vips_map($0, map) }
    }

    /// Decodes the whole picture, because rows are not needed in the order in which they are decoded.
    private func keepInMemory() throws(HelperFailure) {
        guard !self.isInMemory else { return }
        try self.replace { blob_vips_image_copy_memory($0) }
        self.isInMemory = true
    }

    func save(to target: OpaquePointer, quality: CInt) throws(HelperFailure) {
        guard blob_vips_save_rendered(self.image, target, quality) == 0 else { throw vipsFailure() }
    }
}

/// Turns and crops a JPEG losslessly, if its blocks allow that, and writes it with its metadata to a pipe.
func transform(_ command: ExchangeFrame, of file: CInt, to pipe: CInt) throws(HelperFailure) -> ExchangeFrame {
    var crop = blob_jpeg_crop(left: 0, top: 0, width: 0, height: 0)
    guard (1...8).contains(command.a), command.b > 0, let steps = RenderStep.decoded(command.payload) else {
        throw HelperFailure(.library, "the transformation steps are invalid")
    }
    if case .crop(let left, let top, let width, let height)? = steps.first {
        crop = blob_jpeg_crop(left: CInt(left), top: CInt(top), width: CInt(width), height: CInt(height))
    }
    let result = blob_jpeg_transform(file, pipe, CInt(command.a), crop, Int(command.b))
    return ExchangeFrame(result == blob_jpeg_done ? .done : .declined)
}
