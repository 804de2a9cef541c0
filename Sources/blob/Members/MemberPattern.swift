#if Command
import BlobStreamsStandard

/// A pattern for names of members, with the wildcards of shells.
///
/// `*` matches any text without a `/`, `?` any character except `/`, `**` any text, `**/` also the empty text, and
/// `[a-z]` and `[^a-z]` one character. A percent-encoded character matches itself, as do a `[` without a closing
/// bracket and a `%` that encodes nothing. A byte that is not UTF-8 is treated as one character. A `./` at the
/// beginning of the pattern or the name is ignored.
struct MemberPattern {
    private enum Piece {
        case character(CodePoint)
        case anyCharacter, anyText, anyPath
        case oneOf([ClosedRange<CodePoint>], isNegated: Bool)
    }

    /// The number of a Unicode scalar, or of a byte that is not UTF-8; the numbers of such bytes follow all scalars.
    private typealias CodePoint = UInt32

    private static let firstByte: CodePoint = 0x11_0000
    private static let slash = CodePoint(UInt8(ascii: "/"))

    let text: String
    private var pieces: [Piece] = []

    /// True if the pattern contains a wildcard, so that it may match several names.
    private(set) var hasWildcard = false

    /// True if the pattern matches names in any folder.
    private(set) var hasAnyPath = false

    /// - Parameter text: The text of a selector as written, percent-encoded or not.
    init(_ text: Substring) {
        self.text = String(text)
        var rest = Array(text.unicodeScalars)[...]
        if rest.starts(with: "./".unicodeScalars) { rest = rest.dropFirst(2) }
        var encoded: [UInt8] = []
        while let first = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { $0.isASCII ? Character($0).hexDigitValue : nil }
            if first == "%", digits.count == 2 {
                encoded.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
                continue
            }
            self.appendCharacters(&encoded)
            switch first {
            case "*" where rest.first == "*":
                rest = rest.drop { $0 == "*" }
                self.pieces.append(.anyPath)
                self.hasAnyPath = true
            case "*": self.pieces.append(.anyText)
            case "?": self.pieces.append(.anyCharacter)
            case "[":
                guard let set = Self.set(&rest) else { fallthrough }
                self.pieces.append(set)
            default:
                self.pieces.append(.character(first.value))
                continue
            }
            self.hasWildcard = true
        }
        self.appendCharacters(&encoded)
    }

    /// A sentence for a pattern that matches no name but might match names in folders; empty for any other pattern.
    var advice: String {
        let isForOneFolder = self.text.contains("*") && !self.text.contains("/") && !self.hasAnyPath
        return isForOneFolder ? " '*' does not match '/': try '**/\(printable(self.text))'." : ""
    }

    private mutating func appendCharacters(_ bytes: inout [UInt8]) {
        self.pieces += Self.characters(bytes[...]).map { .character($0) }
        bytes = []
    }

    private static func characters(_ bytes: ArraySlice<UInt8>) -> [CodePoint] {
        var (characters, rest): ([CodePoint], ArraySlice<UInt8>) = ([], bytes)
        var (parser, iterator) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator())
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar):
                characters.append(Unicode.UTF8.decode(scalar).value)
                rest = rest.dropFirst(scalar.count)
            case .error(let count):
                characters += rest.prefix(count).map { self.firstByte + CodePoint($0) }
                rest = rest.dropFirst(count)
            case .emptyInput: return characters
            }
        }
    }

    /// Parses the rest of a set after its `[`; returns nil and consumes nothing if the closing bracket is missing.
    private static func set(_ text: inout ArraySlice<Unicode.Scalar>) -> Piece? {
        var rest = text
        let isNegated = rest.first == "^" || rest.first == "!"
        if isNegated { rest = rest.dropFirst() }
        var ranges: [ClosedRange<CodePoint>] = []
        while let first = rest.popFirst() {
            if first == "]", !ranges.isEmpty {
                text = rest
                return .oneOf(ranges, isNegated: isNegated)
            }
            let isRange = rest.first == "-" && rest.dropFirst().first.map { $0 != "]" } ?? false
            let last = isRange ? rest.dropFirst().first ?? first : first
            if isRange { rest = rest.dropFirst(2) }
            ranges.append(min(first, last).value...max(first, last).value)
        }
        return nil
    }

    /// Returns true if the pattern matches a whole name or, if `orItsFolder` is true, the path of an enclosing folder.
    ///
    /// - Complexity: O(name × pattern), regardless of the wildcards.
    func matches(_ name: [UInt8], orItsFolder: Bool = false) -> Bool {
        let name = name.starts(with: Array("./".utf8)) ? name[2...] : name[...]
        var states = self.reachable([0])
        for character in Self.characters(name) {
            if orItsFolder, character == Self.slash, states.contains(self.pieces.count) { return true }
            states = self.reachable(
                states.flatMap { state -> [Int] in
                    guard state < self.pieces.count else { return [] }
                    switch self.pieces[state] {
                    case .character(let own): return own == character ? [state + 1] : []
                    case .anyCharacter: return character == Self.slash ? [] : [state + 1]
                    case .oneOf(let ranges, let isNegated):
                        let isIn = ranges.contains { $0.contains(character) }
                        return isIn != isNegated && character != Self.slash ? [state + 1] : []
                    case .anyText: return character == Self.slash ? [] : [state]
                    case .anyPath: return [state]
                    }
                })
            if states.isEmpty { return false }
        }
        return states.contains(self.pieces.count)
    }

    /// Returns the states, and all states reachable from them over wildcards that match nothing, without duplicates.
    private func reachable(_ states: [Int]) -> [Int] {
        var found: Set<Int> = []
        var rest = states
        while let state = rest.popLast() {
            guard found.insert(state).inserted, state < self.pieces.count else { continue }
            switch self.pieces[state] {
            case .anyText: rest.append(state + 1)
            case .anyPath:
                rest.append(state + 1)
                if self.isSlash(state + 1), state == 0 || self.isSlash(state - 1) { rest.append(state + 2) }
            case .character, .anyCharacter, .oneOf: break
            }
        }
        return Array(found)
    }

    private func isSlash(_ index: Int) -> Bool {
        if index < self.pieces.count, case .character(Self.slash) = self.pieces[index] { true } else { false }
    }
}
#endif
