internal import CVips
internal import HelperExchange

/// Decodes a picture with `body`, which must release all images.
///
/// - Throws: Errors of `body`; an error for an incomplete or damaged picture, in which decoders fill gaps with grey
///   pixels.
func decoding(
    _ file: CInt, _ body: (OpaquePointer) throws(HelperFailure) -> ExchangeFrame
) throws(HelperFailure) -> ExchangeFrame {
    blob_vips_clear_warnings()
    guard let source = blob_vips_source_new_from_descriptor(file) else { throw vipsFailure() }
    let result = Result { () throws(HelperFailure) in try body(source) }
    blob_g_object_unref(UnsafeMutableRawPointer(source))
    let answer = try result.get()
    let warnings = lines(of: blob_vips_warnings())
    guard warnings.contains(where: isDamage) else { return answer }
    throw HelperFailure(describing: warnings)
}

/// Returns true for a warning about missing or damaged pixels.
///
/// libjpeg reports the number of its warnings, and the text of the first one only. Bytes between segments, and wrong
/// numbers in the header of a scan, are common and harmless.
private func isDamage(_ line: String) -> Bool {
    if line.hasPrefix("read gave ") { return !line.hasPrefix("read gave 1 ") }
    return line.hasPrefix("VipsJpeg: ") && !line.contains("extraneous bytes before marker")
        && !line.contains("Invalid SOS parameters")
}

/// The failure that libvips reports, in one line; clears it.
func vipsFailure() -> HelperFailure {
    defer { blob_vips_error_clear() }
    // For a truncated PNG, only a warning states the reason.
    return HelperFailure(describing: lines(of: blob_vips_error_buffer()) + lines(of: blob_vips_warnings()))
}

private func lines(of text: UnsafePointer<CChar>) -> [String] {
    String(cString: text).split(separator: "\n").filter { !$0.hasPrefix("error in tile") }.map(String.init)
}

extension HelperFailure {
    /// The messages of decoders for a truncated file: two for JPEG, and one each for PNG, HEIF, TIFF and WebP, which
    /// has no other message for bytes after a valid header.
    private static let ends = [
        "Premature end", "premature end", "not enough data", "Unexpected end of file", "Read error",
        "unable to parse image",
    ]

    fileprivate init(describing lines: [String]) {
        let text = lines.joined(separator: "; ")
        let isTruncated = Self.ends.contains { text.contains($0) }
        self.init(text.contains("out of memory") ? .limit : isTruncated ? .truncated : .library, text)
    }
}
