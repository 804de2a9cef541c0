import ArgumentParser
import BlobPlatform
import BlobStreamsStandard

/// The facts of a request that has ended.
struct RequestFacts {
    /// The status of the answer; 0 without one.
    var status: Int
    /// The number of bytes of the body that were sent.
    var sentByteCount: Int64
    var duration: Duration
    /// The last URL, in the form in which it is printed.
    var url: String
}

/// A text with variables for the facts of a request, as curl's `--write-out` has it.
struct WriteOutFormat: ExpressibleByArgument {
    private enum Variable: String {
        case httpCode = "http_code"
        case responseCode = "response_code"
        case sizeUpload = "size_upload"
        case speedUpload = "speed_upload"
        case timeTotal = "time_total"
        case urlEffective = "url_effective"
    }

    private enum Piece {
        case text(String), variable(Variable)
    }

    private static let escapes: [Character: String] = ["n": "\n", "r": "\r", "t": "\t", "\\": "\\"]

    private var pieces: [Piece] = []

    /// Creates a format; nil for a variable that is not known, or not closed.
    init?(argument: String) {
        var rest = Substring(argument)
        while let first = rest.popFirst() {
            if first == "\\", let next = rest.popFirst() {
                self.pieces.append(.text(Self.escapes[next] ?? "\\\(next)"))
            } else if first == "%", rest.first == "%" {
                rest.removeFirst()
                self.pieces.append(.text("%"))
            } else if first == "%", rest.first == "{" {
                guard let end = rest.firstIndex(of: "}"),
                    let variable = Variable(rawValue: String(rest[..<end].dropFirst()))
                else { return nil }
                rest = rest[rest.index(after: end)...]
                self.pieces.append(.variable(variable))
            } else {
                self.pieces.append(.text(String(first)))
            }
        }
    }

    func text(_ facts: RequestFacts) -> String {
        let seconds = max(facts.duration.timeInterval, 0)
        let microseconds = Int((min(seconds, 1e9) * 1e6).rounded())
        return self.pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .variable(.httpCode), .variable(.responseCode): Self.padded(facts.status, to: 3)
            case .variable(.sizeUpload): "\(facts.sentByteCount)"
            case .variable(.speedUpload):
                "\(seconds > 0 ? Int64(clamping: Int(Double(facts.sentByteCount) / seconds)) : 0)"
            case .variable(.timeTotal):
                "\(microseconds / 1_000_000).\(Self.padded(microseconds % 1_000_000, to: 6))"
            case .variable(.urlEffective): facts.url
            }
        }.joined()
    }

    private static func padded(_ number: Int, to count: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
