/// IBM's code page 437, the encoding of names in a zip that are not UTF-8 and not marked as such (APPNOTE.TXT,
/// appendix D).
enum CodePage437 {
    /// The characters from 0x80 to 0xFF; those below are ASCII.
    private static let upperHalf = Array(
        ("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
            + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}").unicodeScalars)

    /// Converts a name from the code page to UTF-8.
    static func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.flatMap { $0 < 0x80 ? [$0] : Array(String(Self.upperHalf[Int($0 - 0x80)]).utf8) }
    }
}
