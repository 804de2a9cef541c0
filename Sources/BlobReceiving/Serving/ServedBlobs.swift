public import BlobCore
import BlobPlatform
import BlobTransfer
import CryptoDigest

/// Serves sources by GET and HEAD with ranges and conditions (RFC 9110), and folders and containers as listings: a
/// browser, and any program that reads files over HTTP, can read a member of an archive.
///
/// ```swift
/// let backup = ServedBlobs.Item("backup.tgz", .source(FileSource("backup.tgz")))
/// let server = HTTPServer(ServedBlobs([backup], registry: .standard, token: AccessToken()))
/// ```
///
/// The items are at `/TOKEN/NAME`, and the members of a container at `/TOKEN/backup.tgz/etc/hosts`, at any depth.
/// With `?format=zip`, a folder is a zip of the files in it and below it, which is made while it is read, and continued
/// by ranges. Nothing is written, and nothing outside of the items is reached: links in folders are not followed.
public struct ServedBlobs: RequestService {
    /// Something to serve.
    public struct Item: Sendable {
        /// The kinds of items.
        public enum Content: Sendable {
            /// The bytes of a source, and its members if it is a container.
            case source(any BlobInputStreamDataSource)
            /// The members of a container.
            case container(any BlobContainer)
            /// The files in a folder and its subfolders; links in it are not followed.
            case folder(path: String)
        }

        /// The name, which is the first component of the path.
        public let name: String

        let content: Content

        /// Creates an item.
        public init(_ name: String, _ content: Content) { (self.name, self.content) = (name, content) }
    }

    private enum Found {
        case blob(ServedBlob)
        case listing(any ServedFolder, ArraySlice<[UInt8]>)
    }

    /// The number of entries on a page of a listing.
    private static let pageCount = 1000

    /// The maximum number of containers within containers.
    private static let maximumDepth = 8

    private let items: [(item: Item, folder: (any ServedFolder)?)]
    private let registry: BlobRegistry
    private let token: AccessToken?
    private let hosts: Set<String>?
    private let context: BlobContext
    private let containers = OpenContainers()
    private let zips = ServedZips()
    private let report: @Sendable (BlobError) -> Void

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - items: The items. Of several with one name, all but the first get a number: `NAME-2`.
    ///   - registry: Opens containers by their signatures, and files.
    ///   - token: The secret with which all paths begin; nil to serve everybody who can connect.
    ///   - hosts: The names by which clients may address the server, without the port; nil to allow any name. Without a
    ///     token, pages of other sites could otherwise reach the server by a name of theirs.
    ///   - context: The limits and indexes with which sources are read.
    ///   - report: A closure that receives the errors of sources, whose messages clients do not see.
    /// - Throws: The error of a folder.
    public init(
        _ items: [Item], registry: BlobRegistry, token: AccessToken?, hosts: Set<String>? = nil,
        context: BlobContext = BlobContext(), report: @escaping @Sendable (BlobError) -> Void = { _ in }
    ) throws(BlobError) {
        var counts: [String: Int] = [:]
        self.items = try items.map { item throws(BlobError) in
            let count = (counts[item.name] ?? 0) + 1
            counts[item.name] = count
            let item = count == 1 ? item : Item("\(item.name)-\(count)", item.content)
            let folder: (any ServedFolder)? =
                switch item.content {
                case .source: nil
                case .container(let container): ContainerFolder(container, nil)
                case .folder(let path): try DiskFolder(Array(path.utf8), registry)
                }
            return (item, folder)
        }
        (self.registry, self.token, self.hosts, self.context) = (registry, token, hosts, context)
        self.report = report
    }

    /// Returns the receiver of a request, which the service answers at once, even with an error of a source.
    public func receiver(for head: RequestHead) throws(BlobError) -> any BodyReceiver {
        guard head.method == "GET" || head.method == "HEAD" else {
            throw RequestRefusal.error(405, "Only GET and HEAD are accepted.", [("Allow", "GET, HEAD")])
        }
        if let hosts {
            guard let host = head.host, hosts.contains(host) else {
                throw RequestRefusal.error(403, "This server is not addressed by this name.")
            }
        }
        return AnsweredRequest(self.answer(head))
    }

    private func answer(_ head: RequestHead) -> RequestAnswer {
        do {
            let (path, isFolder) = try self.path(in: head)
            switch try self.find(path, isFolder: isFolder) {
            case .blob(let blob): return try self.answer(head, blob)
            case .listing(let folder, let rest):
                guard isFolder else { return self.redirection(to: path) }
                if let name = path.last, head.query.split(separator: "&").contains("format=zip") {
                    let name = name + Array(".zip".utf8)
                    return try self.answer(head, self.zips.zip(folder, rest, name: name, self.context.makeChild()))
                }
                return try self.listing(head, path, folder, rest)
            }
        } catch {
            return self.refusal(BlobError(wrapping: error))
        }
    }

    /// Returns the answer for an error of a source. Its text does not contain the message, which may name paths of this
    /// machine.
    private func refusal(_ error: BlobError) -> RequestAnswer {
        let status =
            switch error.code {
            case .notFound, .unsupported, .invalidLocator: 404
            case .ambiguousMember: 300
            case .permissionDenied, .encrypted: 403
            case .limitExceeded, .changed: 503
            case .unavailable, .refused: 502
            case .timedOut: 504
            default: 500
            }
        // A path below a file other than an archive is a mistake of the client.
        if status != 404 || error.code == .notFound && error.operation != nil { self.report(error) }
        let text = status == 404 ? "There is nothing at this path." : "The content cannot be read: \(error.code)."
        return RequestAnswer(status: status, text: text + "\n")
    }

    // MARK: Paths

    /// Returns the components of a path; the second value is true if it ends with a slash.
    private func path(in head: RequestHead) throws(BlobError) -> (path: [[UInt8]], isFolder: Bool) {
        guard let path = self.token.map({ $0.path(in: head.path) }) ?? head.path.dropFirst(),
            head.path.hasPrefix("/")
        else { throw BlobError.noSuchPath }
        var components = path.split(separator: "/", omittingEmptySubsequences: false)
        let isFolder = components.last?.isEmpty ?? true
        if isFolder, !components.isEmpty { components.removeLast() }
        let names = components.compactMap { PercentEncoding.decode($0.utf8) }
        guard names.count == components.count,
            names.allSatisfy({ !$0.isEmpty && !$0.contains(0) && !$0.contains(UInt8(ascii: "/")) }),
            names.allSatisfy({ !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }),
            !head.target.contains("#")
        else { throw BlobError.noSuchPath }
        return (names, isFolder)
    }

    private func find(_ path: [[UInt8]], isFolder: Bool) throws -> Found {
        guard let name = path.first else { return .listing(self.root, []) }
        guard let (item, folder) = self.items.first(where: { $0.item.name.utf8.elementsEqual(name) }) else {
            throw BlobError.noSuchPath
        }
        var (blob, rest) = (ServedBlob?.none, path[1...])
        if let folder {
            guard let found = try folder.find(rest, self.context) else { return .listing(folder, rest) }
            (blob, rest) = (found.blob, found.rest)
        } else if case .source(let source) = item.content {
            let file = source.locator?.filePath.flatMap { FileStatus(at: $0.cString) }
            blob = ServedBlob(source: source, name: name, file: file)
        }
        for _ in 0..<Self.maximumDepth {
            guard let outer = blob, !rest.isEmpty || isFolder else { break }
            let key = path[..<rest.startIndex].map { PercentEncoding.encode($0, leaving: []) }.joined(separator: "/")
            let container = try self.containers.container(key, outer, self.registry, self.context)
            guard let found = try container.find(rest, self.context) else { return .listing(container, rest) }
            (blob, rest) = (found.blob, found.rest)
        }
        guard let blob, rest.isEmpty else { throw BlobError.noSuchPath }
        return .blob(blob)
    }

    /// The folder of all items.
    private var root: any ServedFolder {
        RootFolder(
            entries: self.items.map { item, folder in
                guard case .source(let source) = item.content else {
                    return ServedEntry(name: Array(item.name.utf8), kind: .folder)
                }
                let info = try? source.info(self.context)
                return ServedEntry(name: Array(item.name.utf8), kind: .file, byteCount: info?.byteCount)
            })
    }

    private func redirection(to path: [[UInt8]]) -> RequestAnswer {
        let target = ([self.token?.text].compactMap(\.self) + path.map(Listing.encoded)).joined(separator: "/")
        return RequestAnswer(status: 308, fields: [("Location", "/\(target)/")], text: "")
    }

    // MARK: Blobs

    /// The types whose pages could run scripts, which a browser must not run with the rights of this server.
    private static let activeTypes: Set = [
        "text/html", "application/xhtml+xml", "image/svg+xml", "application/xml", "text/xml",
    ]

    /// The age in seconds from which a change of a file changes its times.
    private static let settlingTime: Int64 = 2

    private func answer(_ head: RequestHead, _ blob: ServedBlob) throws -> RequestAnswer {
        let context = self.context.makeChild()
        let info = try blob.source.info(context)
        let validators = self.validators(info, blob)
        let name = String(decoding: blob.name, as: UTF8.self)
        var type = info.mediaType ?? BlobMediaType.mediaType(ofFileName: name) ?? BlobMediaType.unknown
        // Most text is UTF-8, and browsers otherwise assume another encoding.
        if type.hasPrefix("text/"), !type.contains(";") { type += "; charset=utf-8" }
        var fields =
            validators.fields + [
                ("Accept-Ranges", info.byteCount == nil ? "none" : "bytes"), ("Cache-Control", "private, no-cache"),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ]
        switch validators.outcome(head) {
        case .notModified: return RequestAnswer(status: 304, fields: fields, text: "")
        case .preconditionFailed:
            return RequestAnswer(status: 412, fields: validators.fields, text: "The content has another version.\n")
        case .content: break
        }
        let isAttachment = head.query.split(separator: "&").contains("download")
        let disposition = isAttachment ? "attachment" : "inline"
        fields.append(
            (
                "Content-Disposition",
                "\(disposition); filename*=UTF-8''\(PercentEncoding.encode(name.utf8, leaving: Listing.plainCharacters))"
            ))
        if Self.activeTypes.contains(String(type.prefix { $0 != ";" })) {
            fields.append(("Content-Security-Policy", "sandbox"))
        }
        if let digests = BlobStatedDigest.fieldValue(info.digests) { fields.append(("Repr-Digest", digests)) }
        let source = PinnedSource(base: blob.source, validator: info.validator, context: context)
        guard let byteCount = info.byteCount, head.method == "GET", validators.admitsRange(head),
            case let request = RangeRequest(head.value(of: "range"), of: byteCount), request != .whole
        else {
            let body = head.method == "GET" ? source : nil
            return RequestAnswer(
                status: 200, fields: fields + [("Content-Type", type)], body: body, byteCount: info.byteCount)
        }
        guard case .ranges(let ranges) = request else {
            return RequestAnswer(
                status: 416, fields: fields + [("Content-Range", "bytes */\(byteCount)")], text: "")
        }
        if ranges.count == 1 {
            fields += [("Content-Type", type), ("Content-Range", Self.text(of: ranges[0], in: byteCount))]
            return RequestAnswer(
                status: 206, fields: fields, body: source.slice(ranges[0]), byteCount: Int64(ranges[0].count))
        }
        return self.multipleRanges(ranges, of: source, byteCount, type, fields, context)
    }

    /// Returns the answer with several ranges (RFC 9110, section 14.6).
    private func multipleRanges(
        _ ranges: [Range<Int64>], of source: PinnedSource, _ byteCount: Int64, _ type: String,
        _ fields: [RequestHead.Field], _ context: BlobContext
    ) -> RequestAnswer {
        let boundary = (0..<16).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal
        var (parts, length): ([any BlobInputStreamDataSource], Int64) = ([], 0)
        let append = { (text: String) in
            parts.append(MemorySource(Data(text.utf8)))
            length += Int64(text.utf8.count)
        }
        source.prepare(ranges, context)
        for range in ranges {
            append(
                "\r\n--\(boundary)\r\nContent-Type: \(type)\r\n"
                    + "Content-Range: \(Self.text(of: range, in: byteCount))\r\n\r\n")
            parts.append(source.slice(range))
            length += Int64(range.count)
        }
        append("\r\n--\(boundary)--\r\n")
        return RequestAnswer(
            status: 206, fields: fields + [("Content-Type", "multipart/byteranges; boundary=\(boundary)")],
            body: ConcatenatedSource(parts), byteCount: length)
    }

    private static func text(of range: Range<Int64>, in byteCount: Int64) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(byteCount)"
    }

    private func validators(_ info: BlobInfo, _ blob: ServedBlob) -> ServedValidators {
        let now = Int64(time(nil))
        // The times of a file that changes again within their precision stay the same.
        let isSettled =
            blob.file.map { max($0.modificationTime, $0.statusChangeTime) / 1_000_000_000 } ?? now
            <= now - Self.settlingTime
        let tag = info.validator.map { validator in
            let digest = Array(CryptoDigest.sha256.digest(of: Array(validator.text.utf8)).prefix(16)).hexadecimal
            return (validator.isStrong || isSettled ? "" : "W/") + "\"\(digest)\""
        }
        return ServedValidators(
            tag: tag, modificationTime: blob.file.map { min($0.modificationTime / 1_000_000_000, now) }, now: now)
    }

    // MARK: Listings

    private func listing(
        _ head: RequestHead, _ path: [[UInt8]], _ folder: any ServedFolder, _ rest: ArraySlice<[UInt8]>
    ) throws -> RequestAnswer {
        let query = head.query.split(separator: "&")
        let page = query.compactMap { $0.hasPrefix("page=") ? Int($0.dropFirst(5)) : nil }.first ?? 1
        guard (1...Int(Int32.max)).contains(page) else { throw BlobError.noSuchPath }
        let part = (page - 1) * Self.pageCount..<page * Self.pageCount
        let (count, entries) = try folder.list(rest, part, self.context.makeChild())
        guard page == 1 || part.lowerBound < count else { throw BlobError.noSuchPath }
        let listing = Listing(
            path: path, entries: entries, count: count, page: page, pageCount: (count - 1) / Self.pageCount + 1,
            isArchive: { self.registry.isArchive(named: $0) })
        let isJSON =
            query.contains("format=json")
            || (head.value(of: "accept") ?? "").lowercased().hasPrefix("application/json")
        let (text, type) = isJSON ? (listing.json, "application/json") : (listing.html, "text/html; charset=utf-8")
        let answer = RequestAnswer(status: 200, fields: Listing.fields, text: text, type: type)
        guard head.method == "HEAD" else { return answer }
        return RequestAnswer(status: 200, fields: answer.fields, body: nil, byteCount: answer.byteCount)
    }
}

/// The folder of all items.
private struct RootFolder: ServedFolder {
    let entries: [ServedEntry]

    func list(_ path: ArraySlice<[UInt8]>, _ part: Range<Int>, _ context: BlobContext) -> (
        count: Int, entries: [ServedEntry]
    ) { (self.entries.count, Array(self.entries[part.clamped(to: self.entries.indices)])) }

    func find(_ path: ArraySlice<[UInt8]>, _ context: BlobContext) -> (blob: ServedBlob, rest: ArraySlice<[UInt8]>)? {
        nil
    }
}

/// The containers that were opened last, with the tables of their members.
private final class OpenContainers: Sendable {
    /// The maximum number of containers.
    private static let maximumCount = 16

    private struct Entry {
        let validator: BlobValidator?
        let folder: ContainerFolder
        var lastUse: UInt64
    }

    private let state = Locked((entries: [String: Entry](), useCount: UInt64(0)))

    /// Returns the members of a blob.
    ///
    /// - Parameter key: The path of the blob.
    func container(
        _ key: String, _ blob: ServedBlob, _ registry: BlobRegistry, _ context: BlobContext
    ) throws -> ContainerFolder {
        let validator = try blob.source.info(context).validator
        let known = self.state.withLock { state -> ContainerFolder? in
            guard let entry = state.entries[key], let validator, entry.validator == validator else { return nil }
            state.useCount += 1
            state.entries[key]?.lastUse = state.useCount
            return entry.folder
        }
        if let known { return known }
        let folder = ContainerFolder(try registry.container(of: blob.source, context: context), blob.file)
        self.state.withLock { state in
            state.useCount += 1
            state.entries[key] = Entry(validator: validator, folder: folder, lastUse: state.useCount)
            guard state.entries.count > Self.maximumCount,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return }
            state.entries[oldest.key] = nil
        }
        return folder
    }
}

/// A source of one version of the content.
private struct PinnedSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let validator: BlobValidator?
    let context: BlobContext

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        // The limits of the service, and the cancellation of the request.
        var context = self.context
        (context.cancellation, context.deadline) = (opening.context.cancellation, opening.context.deadline)
        let reader = try self.base.open(
            at: opening.byteOffset, matching: opening.validator ?? self.validator, context: context)
        return .inspected(reader, UnchangedBytes(), startingAt: opening.byteOffset)
    }
}
