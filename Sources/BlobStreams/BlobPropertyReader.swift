import Foundation

/// A reader that knows stream properties besides the offset: ``BlobInputStream`` passes them on.
public protocol BlobPropertyReader: BlobReader {
    /// The value of a property; nil when this reader does not know it.
    func property(forKey key: Stream.PropertyKey) -> Any?

    /// Sets a property.
    ///
    /// - Returns: False when the reader does not know the key or refuses the value.
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool
}
