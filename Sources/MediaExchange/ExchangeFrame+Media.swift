package import HelperExchange

/// The frames of `blob-media-helper`, which runs libvips and libgexiv2.
///
/// The helper is sent open files with its commands: the one to read first, then the pipe for the output.
///
/// | command | numbers | files | answers |
/// |---|---|---|---|
/// | `thumbnail` | a: size of the square in pixels | the picture, the pipe | `done` |
/// | `facts` | a: length of the file | the file | `facts` |
/// | `render` | a, b: width and height of the picture; c: quality, 1 to 100; payload: ``RenderStep`` | the picture, the pipe | `done` |
///
/// | answer | numbers |
/// |---|---|
/// | `opened` | payload: the version of the library |
/// | `done` | a, b: width and height in pixels |
/// | `facts` | payload: ``MediaFacts`` |
extension ExchangeFrame.Kind {
    package static let thumbnail = Self(rawValue: 32)
    package static let facts = Self(rawValue: 33)
    package static let render = Self(rawValue: 34)
    package static let done = Self(rawValue: 48)
}

/// The work of a helper process, for which it loads its libraries before it is confined.
package enum MediaTask: String, Sendable {
    /// Pictures, by libvips.
    case pictures
    /// Facts, by libgexiv2.
    case facts

    /// The name of the library, and of Debian's package.
    package var library: (name: String, package: String) {
        switch self {
        case .pictures: ("libvips", "libvips42")
        case .facts: ("libgexiv2", "libgexiv2-2")
        }
    }
}
