public import Foundation

/// A source with stream properties besides the offset, to which ``BlobInputStream`` passes them on: through all layers,
/// before it is opened and after. Any thread may call it.
public protocol BlobPropertySource: BlobInputStreamDataSource {
    /// Returns the value of a property; nil when the source does not have it.
    func property(forKey key: Stream.PropertyKey) -> Any?

    /// Sets a property.
    ///
    /// - Returns: False when the source does not have the property or refuses the value.
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool
}
