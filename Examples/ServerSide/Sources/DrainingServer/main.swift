import BlobCore
import BlobReceiving
import BlobStreamsNIO
import Foundation
import Logging
import ServiceLifecycle

// Takes uploads into a folder until SIGTERM; then accepts no more connections, lets the uploads in progress finish, and
// ends with status 0. SIGINT, or half a minute, ends it at once.
//
// DrainingServer FOLDER [PORT]
// curl -T film.mov http://127.0.0.1:PORT/film.mov

/// The server as a service, which a group starts, and stops in order with the other services of the program.
struct UploadServer: Service {
    let folder: String
    let port: Int
    let logger: Logger

    func run() async throws {
        let server = try HTTPServer(UploadService(folder: self.folder)) { [logger] answer in
            logger.info("answered", metadata: ["status": "\(answer.status)"])
        }.listen(host: "127.0.0.1", port: self.port)
        FileHandle.standardOutput.write(Data("\(server.url)\n".utf8))
        await withGracefulShutdownHandler {
            await server.finished()
        } onGracefulShutdown: { [logger] in
            logger.notice("draining")
            server.drain()
        }
        self.logger.notice("drained")
    }
}

guard case let arguments = CommandLine.arguments.dropFirst(), let folder = arguments.first else {
    FileHandle.standardError.write(Data("usage: DrainingServer FOLDER [PORT]\n".utf8))
    exit(64)
}
let logger = Logger(label: "DrainingServer")
let server = UploadServer(folder: folder, port: arguments.dropFirst().first.flatMap { Int($0) } ?? 0, logger: logger)
var configuration = ServiceGroupConfiguration(
    services: [server], gracefulShutdownSignals: [.sigterm], cancellationSignals: [.sigint], logger: logger)
configuration.maximumGracefulShutdownDuration = .seconds(30)
try await ServiceGroup(configuration: configuration).run()
