#if Receiver && Photos
import BlobStreams
import BlobStreamsNIO
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import AssetPicker

/// Files as a catalogue; there are thumbnails of pictures.
struct FileCatalogue: PickerCatalogue {
    let folder: URL
    let files: [PickerAsset]

    func assets() -> [PickerAsset] { self.files }

    func thumbnail(of id: String) throws -> Data {
        guard self.files.contains(where: { $0.id == id && $0.mediaType == "image/jpeg" }) else {
            throw BlobError(.unsupported, "No picture.")
        }
        return Data([0xFF, 0xD8])
    }

    func source(of id: String) -> any BlobInputStreamDataSource {
        let name = self.files.first { $0.id == id }?.name ?? "missing"
        return FileSource(path: self.folder.appendingPathComponent(name).path)
    }
}

/// A picker in this process, with as many assets, of which every third is a film.
final class Picker: Sendable {
    let folder: TemporaryFolder
    let session: PickerSession
    let uploads: PickerUploads
    let assets: [PickerAsset]
    private let listening: HTTPServer.Listening
    private let task: Task<Void, Never>

    /// - Parameters:
    ///   - url: The server of uploads; nil for none, and then no upload begins.
    ///   - timeLimit: The time limit for the parts of a request.
    init(
        _ count: Int, limit: Int = 3, types: String = "*/*", url: String? = nil, within timeLimit: Duration? = nil
    ) throws {
        let folder = try TemporaryFolder()
        let assets = (0..<count).map { number in
            PickerAsset(
                id: UUID().uuidString, name: "\(number)", mediaType: number % 3 == 2 ? "video/mp4" : "image/jpeg",
                date: "2024-05-01T12:30:59", byteCount: 100)
        }
        let catalogue = FileCatalogue(folder: folder.url(""), files: assets)
        let uploads = try PickerUploads(
            of: catalogue, to: url ?? "http://127.0.0.1:9/", keepingStateIn: folder.url(""), atOnce: 2)
        let routes = PickerRoutes(PickerAssets(catalogue, types: types), uploads, limit: limit)
        let server = PickerServer(keepingStateIn: folder.url(""), routes)
        self.listening = try timeLimit.map { try server.listen(within: $0) } ?? server.listen()
        (self.folder, self.session, self.uploads, self.assets) = (folder, server.session, uploads, assets)
        self.task = Task { if url != nil { await uploads.run() } }
    }

    deinit {
        self.listening.close()
        self.task.cancel()
    }

    /// The status and the body of the answer to a request, as the page makes it.
    func answer(_ method: String = "GET", _ path: String, _ body: String = "") async throws -> (Int, String) {
        let text = try await self.exchange(Array(self.request(method, path, body).utf8))
        let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (status ?? 0, text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? "")
    }

    /// The text of a request, after which the server closes the connection.
    func request(_ method: String, _ path: String, _ body: String = "") -> String {
        """
        \(method) /\(self.session.token)/\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(self.session.port)\r\nOrigin: \
        \(self.session.origin)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
        """
    }

    /// Sends bytes, and returns all that the server sends until it closes the connection.
    ///
    /// - Parameter ends: True to end the own direction after the bytes.
    func exchange(_ bytes: [UInt8], ends: Bool = false) async throws -> String {
        try await onThread { [self] in
            let descriptor = try self.openConnection(bytes)
            defer { close(descriptor) }
            if ends { shutdown(descriptor, CInt(SHUT_WR)) }
            var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 * 1024))
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 { answer += buffer[..<count] }
            return String(decoding: answer, as: UTF8.self)
        }
    }

    /// Opens connections that stay open, and returns them when the server has answered a request on each.
    func openConnections(_ count: Int) async throws -> [CInt] {
        let request = self.request("GET", "picker.css").replacing("Connection: close\r\n", with: "")
        return try await onThread { [self] in
            try (0..<count).map { _ in
                let descriptor = try self.openConnection(Array(request.utf8))
                var buffer = [UInt8](repeating: 0, count: 16)
                let byteCount = recv(descriptor, &buffer, buffer.count, 0)
                #expect(String(decoding: buffer[..<max(byteCount, 0)], as: UTF8.self) == "HTTP/1.1 200 OK\r")
                return descriptor
            }
        }
    }

    /// Opens a connection, and sends bytes on it.
    private func openConnection(_ bytes: [UInt8]) throws -> CInt {
        let descriptor = makeStreamSocket()
        var address = makeLoopbackAddress(port: UInt16(self.session.port))
        let isConnected = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            let error = BlobError(systemError: errno, doing: "Could not connect")
            close(descriptor)
            throw error
        }
        var rest = bytes[...]
        while !rest.isEmpty, case let count = rest.withUnsafeBytes({ sendQuietly(descriptor, $0) }), count > 0 {
            rest = rest.dropFirst(count)
        }
        return descriptor
    }
}
#endif
