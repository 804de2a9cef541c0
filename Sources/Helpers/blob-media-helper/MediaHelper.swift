internal import CGexiv2
internal import CHelper
internal import CTurboJPEG
internal import CVips
internal import HelperExchange

/// The helper: answers the commands of the process that started it, until that process closes the socket.
final class MediaHelper {
    private let channel: ExchangeChannel
    private let task: MediaTask
    private let fault: String?

    /// Creates the helper of one connection.
    ///
    /// - Parameter fault: A fault for tests, such as `crash:facts`.
    init(_ channel: ExchangeChannel, _ task: MediaTask, fault: String?) {
        (self.channel, self.task, self.fault) = (channel, task, fault)
    }

    func run(memoryByteCount: Int) {
        // Libraries are loaded, and system data is read, only before the confinement.
        let library = MediaLibrary(self.task)
        let confinement = HelperConfinement.begin(memoryByteCount: memoryByteCount, hasFiles: true)
        self.channel.serve { command in
            let files = self.channel.takeDescriptors()
            defer { for file in files { blob_close(file) } }
            return command.kind == .greet ? confinement.frame : self.answer(command, files, library)
        }
    }

    private func answer(_ command: ExchangeFrame, _ files: [CInt], _ library: MediaLibrary) -> ExchangeFrame {
        do throws(HelperFailure) {
            let version = try library.version.get()
            if let fault, blob_fault(fault, Self.moment(of: command)) != 0 { throw .limit }
            switch (command.kind, self.task, files.count) {
            case (.open, _, 0):
                return ExchangeFrame(.opened, a: ExchangeFrame.version, payload: Array(version.utf8))
            case (.thumbnail, .pictures, 2):
                return try makeThumbnail(size: command.a, of: files[0], to: files[1])
            case (.thumbnail, .smallJPEGs, 2):
                return makeJPEGThumbnail(size: command.a, orientation: command.b, of: files[0], to: files[1])
            case (.facts, .facts, 1): return try readFacts(of: files[0], byteCount: command.a)
            case (.render, .pictures, 2): return try render(command, of: files[0], to: files[1])
            case (.transform, .pictures, 2): return try transform(command, of: files[0], to: files[1])
            default: blob_exit(70)
            }
        } catch {
            return error.frame
        }
    }

    private static func moment(of command: ExchangeFrame) -> String {
        switch command.kind {
        case .thumbnail: "thumbnail"
        case .facts: "facts"
        case .render: "render"
        case .transform: "transform"
        default: "open"
        }
    }
}

/// The library of a task, loaded and started.
struct MediaLibrary {
    /// The number of threads that decode one picture.
    private static let threadCount: CInt = 2

    /// The version of the library and its extras, or the reason why it cannot be used.
    let version: Result<String, HelperFailure>

    init(_ task: MediaTask) {
        var reason: UnsafePointer<CChar>?
        var extras = ""
        switch task {
        case .pictures:
            // Optional, but its presence changes the output.
            if blob_jpeg_load() == nil { extras = " with libturbojpeg" }
            reason = blob_vips_load(Self.threadCount)
        case .smallJPEGs: reason = blob_jpeg_load()
        case .facts: reason = blob_gexiv2_load()
        }
        guard let reason else {
            // libgexiv2 does not report its version.
            self.version = .success(task == .pictures ? String(cString: blob_vips_version_string()) + extras : "")
            return
        }
        let text = "\(task.library) cannot be loaded: \(String(cString: reason))"
        self.version = .failure(HelperFailure(.unavailable, text))
    }
}
