import BlobPlatform

/// Calls a system call again for as long as signals interrupt it.
///
/// - Parameter call: Returns a negative number when it fails, with the reason in `errno`.
/// - Returns: The result of the first call that was not interrupted.
package func uninterrupted<Failure: Error>(_ call: () throws(Failure) -> CInt) throws(Failure) -> CInt {
    while true {
        let result = try call()
        if result >= 0 || errno != EINTR { return result }
    }
}
