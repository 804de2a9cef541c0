public import Foundation

/// A reader with stream properties besides the offset, to which ``BlobInputStream`` passes them on.
public protocol BlobPropertyReader: BlobPluginReader {
    /// Returns the value of a property; nil when the reader does not have it.
    func property(forKey key: Stream.PropertyKey) -> Any?

    /// Sets a property.
    ///
    /// - Returns: False when the reader does not have the property or refuses the value.
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool
}
