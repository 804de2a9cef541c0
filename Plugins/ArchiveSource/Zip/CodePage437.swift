/// The characters of IBM's code page 437, in which names of zips are that neither are UTF-8 nor say so (APPNOTE.TXT,
/// appendix D).
enum CodePage437 {
    /// The characters from 0x80 on; those below are ASCII.
    private static let upperHalf = Array(
        ("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
            + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}").unicodeScalars)

    /// The UTF-8 of a name in the code page.
    static func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.flatMap { $0 < 0x80 ? [$0] : Array(String(Self.upperHalf[Int($0 - 0x80)]).utf8) }
    }
}
