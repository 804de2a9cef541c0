import BlobStreams
import CoreFoundation
import FileSource
import Foundation

extension Comparison {
    /// Reading a file on the events of a run loop.
    static var runLoopReading: Comparison {
        Comparison(
            title: "Reading a file on a run loop, 64 KiB an event", unit: "KiB", count: FileToRead.byteCount >> 10,
            subjects: [
                Subject(name: "BlobInputStream with a delegate") { _ in
                    let source = FileSource(url: URL(filePath: try FileToRead.path()))
                    DelegateReader().drain(BlobInputStream(source, mode: .asynchronous))
                }
            ],
            peer: Subject(name: "CFRunLoop and read(2)") { _ in try BareRunLoopReader().drain() })
    }
}

/// A stream delegate that reads once per event.
private final class DelegateReader: NSObject, StreamDelegate {
    private let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: 64 << 10)
    private var total = 0

    deinit { self.buffer.deallocate() }

    func drain(_ stream: InputStream) {
        stream.delegate = self
        stream.schedule(in: .current, forMode: .default)
        stream.open()
        CFRunLoopRun()
        precondition(self.total == FileToRead.byteCount)
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        switch event {
        case .hasBytesAvailable:
            self.total += (stream as? InputStream)?.read(self.buffer, maxLength: 64 << 10) ?? 0
        case .endEncountered, .errorOccurred:
            stream.close()
            CFRunLoopStop(CFRunLoopGetCurrent())
        default: break
        }
    }
}

/// Reads the file in a run loop source that signals itself again after each read.
private final class BareRunLoopReader {
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private var descriptor: CInt = -1
    private var total = 0
    private var source: CFRunLoopSource?

    deinit { self.buffer.deallocate() }

    func drain() throws {
        self.descriptor = open(try FileToRead.path(), O_RDONLY)
        defer { close(self.descriptor) }
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.perform = { info in
            guard let info else { return }
            Unmanaged<BareRunLoopReader>.fromOpaque(info).takeUnretainedValue().turn()
        }
        let source = CFRunLoopSourceCreate(nil, 0, &context)
        self.source = source
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode)
        CFRunLoopSourceSignal(source)
        CFRunLoopRun()
        CFRunLoopSourceInvalidate(source)
        precondition(self.total == FileToRead.byteCount)
    }

    private func turn() {
        let count = read(self.descriptor, self.buffer, 64 << 10)
        guard count > 0 else { return CFRunLoopStop(CFRunLoopGetCurrent()) }
        self.total += count
        CFRunLoopSourceSignal(self.source)
    }
}
