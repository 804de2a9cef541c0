internal import CoreFoundation
import Foundation

// The platform differences in run loops and stream properties, and nothing else.

#if canImport(Darwin)
/// The type of a stream property on this platform.
public typealias BlobStreamProperty = Any

extension RunLoop {
    /// Calls `body` with the `CFRunLoop` of this run loop.
    func withCFRunLoop(in mode: RunLoop.Mode, _ body: @escaping @Sendable (CFRunLoop) -> Void) {
        body(self.getCFRunLoop())
    }
}

extension RunLoop.Mode {
    var cfMode: CFRunLoopMode { CFRunLoopMode(self.rawValue as CFString) }
}

extension StreamDelegate {
    func receive(_ event: Stream.Event, from stream: Stream) { self.stream?(stream, handle: event) }
}
#else
/// The type of a stream property on this platform.
public typealias BlobStreamProperty = AnyObject

/// The `CFRunLoop` of a run loop, which retains it.
private struct KnownRunLoop {
    weak var runLoop: RunLoop?
    let cfRunLoop: Unmanaged<CFRunLoop>
}

/// The run loops of other threads on which streams were scheduled.
private let knownRunLoops = Locked<[ObjectIdentifier: KnownRunLoop]>([:])

extension RunLoop {
    /// The `CFRunLoop` of another thread's run loop; nil until ``withCFRunLoop(in:_:)`` has obtained it there.
    private var knownCFRunLoop: CFRunLoop? {
        knownRunLoops.withLock { loops in
            // Another run loop may previously have been at this address.
            guard let known = loops[ObjectIdentifier(self)], known.runLoop === self else { return nil }
            return known.cfRunLoop.takeUnretainedValue()
        }
    }

    /// Calls `body` with the `CFRunLoop` of this run loop: now, or, for the first call from another thread, on the run
    /// loop's own thread when it runs next in `mode`, because it is accessible only there.
    func withCFRunLoop(in mode: RunLoop.Mode, _ body: @escaping @Sendable (CFRunLoop) -> Void) {
        if self === RunLoop.current {
            body(CFRunLoopGetCurrent())
        } else if self === RunLoop.main {
            body(CFRunLoopGetMain())
        } else if let known = self.knownCFRunLoop {
            body(known)
        } else {
            // Foundation frees neither the timer nor its block: once `body` is taken, they no longer retain anything.
            let body = Locked(Optional(body))
            // Adding a timer from another thread wakes the run loop.
            let timer = Timer(timeInterval: 0, repeats: false) { _ in
                guard let body = body.take(), let current = CFRunLoopGetCurrent() else { return }
                let known = KnownRunLoop(runLoop: .current, cfRunLoop: .passUnretained(current))
                knownRunLoops.withLock { loops in
                    loops = loops.filter { $0.value.runLoop != nil }
                    loops[ObjectIdentifier(RunLoop.current)] = known
                }
                body(current)
            }
            self.add(timer, forMode: mode)
        }
    }
}

extension RunLoop.Mode {
    var cfMode: CFString {
        switch self {
        case .default: kCFRunLoopDefaultMode
        case .common: kCFRunLoopCommonModes
        default: unsafeBitCast(NSString(string: self.rawValue), to: CFString.self)  // They are toll-free bridged.
        }
    }
}

extension StreamDelegate {
    func receive(_ event: Stream.Event, from stream: Stream) { self.stream(stream, handle: event) }
}
#endif
