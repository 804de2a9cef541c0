#if Command
import BlobPlatform
import BlobStreamsStandard

/// Returns an argument on one line, in a form that the command accepts as an argument.
///
/// An argument with control characters is shown as its locator. In an argument with secrets, `***` replaces each
/// secret, and the result is not accepted as an argument.
func printableArgument(_ argument: String) -> String {
    let shown = printableWithoutSecrets(argument)
    guard shown == argument else { return printable(shown) }
    guard printable(argument) != argument else { return argument }
    return (try? BlobRegistry.standard.locator(for: argument).description) ?? printable(argument)
}

/// Returns the bytes of an argument unchanged, for lists of checksums.
///
/// On a terminal, an argument with control characters is returned in the form of ``printableArgument(_:)``.
func listedName(_ argument: String) -> [UInt8] {
    let isHarmless = { (character: Unicode.Scalar) in
        character.isPrintable || "\n\r\t".unicodeScalars.contains(character)
    }
    guard isatty(STDOUT_FILENO) == 1, !argument.unicodeScalars.allSatisfy(isHarmless) else {
        return RawArguments.bytes(of: argument)
    }
    return Array(printableArgument(argument).utf8)
}

/// Returns true for the locator of a server with a user, a password or a query.
func hasSecrets(_ argument: String) -> Bool { printableWithoutSecrets(argument) != argument }

private func printableWithoutSecrets(_ argument: String) -> String {
    guard argument.utf8.contains(UInt8(ascii: ":")) else { return argument }
    guard let locator = try? BlobRegistry.standard.locator(for: argument) else {
        // Not a locator, and possibly a malformed URL.
        return argument.contains("://") ? printableURL(argument) : argument
    }
    // Parsing changes the spelling, so the original is returned unless it contains a secret.
    return locator.description == locator.text ? argument : locator.description
}

/// Returns a name on one line. If it contains control characters, they become `%XX`, and `%` is encoded too.
func printable(_ text: String) -> String {
    guard !text.unicodeScalars.allSatisfy(\.isPrintable) else { return text }
    return text.unicodeScalars.map { character in
        character.isPrintable && character != "%"
            ? String(character) : PercentEncoding.encode(String(character).utf8, leaving: [])
    }.joined()
}

/// Returns JSON whose strings also escape the control characters beyond ASCII, which a terminal may obey.
func printableJSON(_ json: String) -> String {
    guard !json.unicodeScalars.allSatisfy(\.isPrintable) else { return json }
    return json.unicodeScalars.map { character in
        guard !character.isPrintable else { return String(character) }
        return String(character).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }.joined()
}
#endif
