/// A source that chooses its name in errors, such as one that stands for another source.
package protocol NamedLayer: BlobInputStreamDataSource {
    /// The name of the layer in errors.
    var layer: String { get }
}
