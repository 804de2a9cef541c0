import BlobPlatform

/// The version of the commands: the last tagged version, or the next version to be tagged.
package let commandVersion = "0.1.0"

/// Ends a program in a build without a trait of this package, with a message on standard error and status 69.
package func endWithoutTrait(_ traits: String, _ program: String) -> Never {
    let text =
        "\(program): unavailable: The program requires the \(traits) of the package BlobStreams, which this build does "
        + "not include.\n"
    _ = Array(text.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(69)
}
