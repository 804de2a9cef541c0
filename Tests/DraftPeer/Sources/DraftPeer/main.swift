import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload

/// Stores each body as a file of a folder, by the last component of its path.
final class StoringHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let folder: String
    private var file: FileHandle?

    init(folder: String) { self.folder = folder }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            switch self.unwrapInboundIn(data) {
            case .head(let request):
                let name = request.path?.split(separator: "/").last.map(String.init) ?? "body"
                let path = "\(self.folder)/\(name)"
                guard FileManager.default.createFile(atPath: path, contents: nil) else {
                    return context.close(promise: nil)
                }
                self.file = FileHandle(forWritingAtPath: path)
            case .body(let bytes):
                try bytes.withUnsafeReadableBytes { try self.file?.write(contentsOf: $0) }
            case .end:
                try self.file?.close()
                context.write(self.wrapOutboundOut(.head(HTTPResponse(status: .created))), promise: nil)
                context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            }
        } catch {
            context.close(promise: nil)
        }
    }
}

// A server of resumable uploads by NIOResumableUpload. Prints its port, and runs until it is ended.
guard CommandLine.arguments.count == 3 else {
    print("usage: DraftPeer FOLDER ORIGIN")
    exit(64)
}
let (folder, origin) = (CommandLine.arguments[1], CommandLine.arguments[2])
let uploads = HTTPResumableUploadContext(origin: origin)
let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline()
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            try pipeline.addHandler(
                HTTPResumableUploadHandler(context: uploads, handlers: [StoringHandler(folder: folder)]))
        }
    }
    .bind(host: "127.0.0.1", port: 0).get()
try FileHandle.standardOutput.write(contentsOf: Data("\(server.localAddress?.port ?? 0)\n".utf8))
try await server.closeFuture.get()
