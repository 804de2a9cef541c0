#if Command
import ArgumentParser
import BlobCore
import BlobPlatform

/// A line of a log on standard error.
struct LogLine {
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    let level: ActivityLog.Level
    let message: String
    /// Further fields, in their order; those without a value are omitted.
    var fields: [(name: String, value: (any Encodable)?)] = []

    /// Returns the line with its time, as `2026-11-27T02:51:05.123Z debug request ended method=GET status=206` or as an
    /// object of JSON.
    func text(_ format: Format) -> String {
        let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        if format == .json {
            let object = JSONObject(
                [("time", time), ("level", "\(self.level)"), ("message", self.message)]
                    + self.fields.map { ($0.name, $0.value) })
            if let line = try? jsonLine(object) { return line + "\n" }
        }
        let fields = self.fields.compactMap { field in
            field.value.map { value in
                let text = "\(value)"
                let isPlain = !text.isEmpty && !text.contains { " \"\\=".contains($0) }
                let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                return " \(field.name)=\(isPlain ? text : "\"\(escaped)\"")"
            }
        }
        return printable("\(time) \(self.level) \(self.message)\(fields.joined())") + "\n"
    }
}

extension ActivityLog.Level: ExpressibleByArgument {
    /// Creates the level of a name.
    public init?(argument: String) { self.init(argument) }

    /// The names of all levels.
    public static var allValueStrings: [String] { Self.allCases.map { "\($0)" } }

    /// The name of the level.
    public var defaultValueDescription: String { "\(self)" }
}
#endif
