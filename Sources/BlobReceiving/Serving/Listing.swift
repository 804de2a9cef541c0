import BlobCore
import BlobPlatform

/// A page of the entries of a folder, for people and for programs.
struct Listing {
    /// The characters that need no encoding anywhere in a URL (RFC 3986, section 2.3).
    static let plainCharacters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    /// The header fields of a listing, which loads nothing and runs nothing.
    static let fields: [RequestHead.Field] = [
        ("Cache-Control", "private, no-store"), ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
        ("Vary", "Accept"),
    ]

    /// The components of the folder's path; empty for the folder of all items.
    let path: [[UInt8]]
    let entries: [ServedEntry]
    /// The total number of entries.
    let count: Int
    /// The number of this page, from 1.
    let page: Int
    let pageCount: Int
    /// Returns true for the name of a file whose members can be listed.
    let isArchive: (String) -> Bool

    static func encoded(_ name: [UInt8]) -> String { PercentEncoding.encode(name, leaving: self.plainCharacters) }

    private var name: String { self.path.last.map { String(decoding: $0, as: UTF8.self) } ?? "Files" }

    // MARK: JSON

    private struct Page: Encodable {
        let name: String
        let count: Int
        let entries: [Entry]
        let next: String?
    }

    private struct Entry: Encodable {
        let name: String
        let kind: String
        /// The URL of the content, relative to the listing; nil for an entry without content.
        let href: String?
        /// The URL of the listing of an archive's members.
        let members: String?
        let byteCount: Int64?
        let modificationTime: String?
        let mediaType: String?

        private enum CodingKeys: String, CodingKey {
            case name, kind, href, members
            case byteCount = "byte_count"
            case modificationTime = "modification_time"
            case mediaType = "media_type"
        }
    }

    /// The page as a JSON object.
    var json: String {
        let entries = self.entries.map { entry in
            let name = String(decoding: entry.name, as: UTF8.self)
            let isArchive = entry.kind == .file && self.isArchive(name)
            return Entry(
                name: name, kind: isArchive ? "archive" : entry.kind.rawValue, href: self.href(entry),
                members: isArchive ? self.href(entry).map { $0 + "/" } : nil, byteCount: entry.byteCount,
                modificationTime: entry.modificationTime.map { Self.time($0, "T") + "Z" },
                mediaType: entry.kind == .file ? BlobMediaType.mediaType(ofFileName: name) : nil)
        }
        let next = self.page < self.pageCount ? "?format=json&page=\(self.page + 1)" : nil
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings and numbers cannot fail.
        let bytes = try? encoder.encode(Page(name: self.name, count: self.count, entries: entries, next: next))
        return bytes.map { String(decoding: $0, as: UTF8.self) + "\n" } ?? "{}"
    }

    /// The relative URL of an entry; nil for a link, and for a device or the like.
    private func href(_ entry: ServedEntry) -> String? {
        let text = Self.encoded(entry.component ?? entry.name)
        return switch entry.kind {
        case .file: text
        case .folder: text + "/"
        case .link, .other: nil
        }
    }

    private static func time(_ seconds: Int64, _ separator: String) -> String {
        let text = Date(timeIntervalSince1970: Double(seconds)).ISO8601Format()
        return "\(text.prefix(10))\(separator)\(text.dropFirst(11).prefix(8))"
    }

    // MARK: HTML

    /// The page as HTML without scripts.
    var html: String {
        let title = Self.escaped(self.name)
        var parents = [(name: "Files", href: String(repeating: "../", count: self.path.count))]
        for (index, name) in self.path.enumerated() {
            let href = String(repeating: "../", count: self.path.count - index - 1)
            parents.append((String(decoding: name, as: UTF8.self), href.isEmpty ? "./" : href))
        }
        let trail = parents.dropLast().map { "<li><a href=\"\($0.href)\"><bdi>\(Self.escaped($0.name))</bdi></a></li>" }
        let rows = self.entries.map(self.row).joined()
        let pages = [
            self.page > 1 ? "<a rel=\"prev\" href=\"?page=\(self.page - 1)\">Previous page</a>" : nil,
            self.page < self.pageCount ? "<a rel=\"next\" href=\"?page=\(self.page + 1)\">Next page</a>" : nil,
        ].compactMap(\.self).joined(separator: " ")
        let summary =
            (self.count == 1 ? "1 entry" : "\(self.count) entries")
            + (self.pageCount > 1 ? ", page \(self.page) of \(self.pageCount)" : "")
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark"><title>\(title)\(self.page > 1 ? ", page \(self.page)" : "")</title>
            <style>\(Self.style)</style></head><body><main>
            \(trail.isEmpty ? "" : "<nav aria-label=\"Parent folders\"><ol>\(trail.joined())</ol></nav>")
            <h1><bdi>\(title)</bdi></h1>
            <table><caption>\(summary)</caption>
            <thead><tr><th scope="col">Name</th><th scope="col">Size</th><th scope="col">Modified (UTC)</th></tr></thead>
            <tbody>\(rows)</tbody></table>
            \(self.path.isEmpty ? "" : "<p><a href=\"?format=zip\" download>Download all as a zip</a></p>")
            \(pages.isEmpty ? "" : "<nav aria-label=\"Pages\"><p>\(pages)</p></nav>")
            </main></body></html>

            """
    }

    private func row(_ entry: ServedEntry) -> String {
        let name = String(decoding: entry.name, as: UTF8.self)
        let text = "<bdi>\(Self.escaped(name))\(entry.kind == .folder ? "/" : "")</bdi>"
        var cell = self.href(entry).map { "<a href=\"\($0)\">\(text)</a>" } ?? "\(text) (\(entry.kind.rawValue))"
        if entry.kind == .file, self.isArchive(name), let href = self.href(entry) {
            cell += " <a href=\"\(href)/\" aria-label=\"Members of \(Self.escaped(name))\">members</a>"
        }
        let size = entry.byteCount.map(Self.size) ?? ""
        let time = entry.modificationTime.map { Self.time($0, " ").prefix(16) } ?? ""
        return "<tr><td>\(cell)</td><td>\(size)</td><td>\(time)</td></tr>\n"
    }

    /// Returns a length such as `12.3 MB`.
    private static func size(_ byteCount: Int64) -> String {
        var (value, unit) = (Double(byteCount), 0)
        let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
        while value >= 999.95, unit < units.count - 1 { (value, unit) = (value / 1000, unit + 1) }
        guard unit > 0 else { return "\(byteCount) B" }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// The characters that change the direction of the text after them, which could disguise an extension.
    private static let directions: Set<Unicode.Scalar> = Set("\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}".unicodeScalars)

    /// Returns a text for HTML, with its control characters made visible.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case _ where scalar.properties.generalCategory == .control || self.directions.contains(scalar):
                escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static let style = """
        :root{color-scheme:light dark}
        body{font:1rem/1.5 system-ui,sans-serif;margin:0;background:#fff;color:#1b1b1b}
        main{max-width:60rem;margin:0 auto;padding:1rem}
        h1{font-size:1.25rem;margin:.5rem 0;overflow-wrap:anywhere}
        nav ol{display:flex;flex-wrap:wrap;gap:0 .5rem;margin:0;padding:0;list-style:none}
        nav li::after{content:" /"}
        nav a,td a{display:inline-block;padding:.25rem 0;overflow-wrap:anywhere}
        td a+a{margin-left:.75rem}
        table{width:100%;border-collapse:collapse}
        caption{text-align:left;color:#5a5a5a;padding-bottom:.5rem}
        th,td{text-align:left;vertical-align:baseline;padding:.25rem .5rem .25rem 0;border-bottom:1px solid #d5d5d5}
        td{overflow-wrap:anywhere}
        th+th,td+td{text-align:right;white-space:nowrap}
        a{color:#0b57a4}a:visited{color:#6a3a8a}a:focus-visible{outline:3px solid;outline-offset:2px}
        @media(max-width:36rem){th:nth-child(3),td:nth-child(3){display:none}}
        @media(prefers-color-scheme:dark){body{background:#121212;color:#e8e8e8}caption{color:#b0b0b0}
        th,td{border-color:#3a3a3a}a{color:#8ab8ff}a:visited{color:#d0a8f0}}
        """
}
