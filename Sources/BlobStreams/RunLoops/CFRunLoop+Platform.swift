internal import CoreFoundation
import Foundation

// The differences between platforms in run loops and stream properties, and nothing else.

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

    extension RunLoop {
        /// Calls `body` with the `CFRunLoop` of this run loop: now, or on its own thread when it runs next in `mode`,
        /// because nothing else gives access to it.
        func withCFRunLoop(in mode: RunLoop.Mode, _ body: @escaping @Sendable (CFRunLoop) -> Void) {
            if self === RunLoop.current {
                body(CFRunLoopGetCurrent())
            } else if self === RunLoop.main {
                body(CFRunLoopGetMain())
            } else {
                // Foundation frees neither the timer nor its block: once `body` is taken, what is left holds nothing.
                let body = Locked(Optional(body))
                // Adding a timer from another thread wakes the run loop.
                let timer = Timer(timeInterval: 0, repeats: false) { _ in body.take()?(CFRunLoopGetCurrent()) }
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
