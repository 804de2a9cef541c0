import Foundation
import Testing

/// Opens a file that must be there; a FIFO only once its other end is open too.
func opened(_ path: String, _ flags: CInt) throws -> CInt {
    let descriptor = open(path, flags | O_CLOEXEC)
    try #require(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
    return descriptor
}
