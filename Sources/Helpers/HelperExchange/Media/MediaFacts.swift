/// A fact about a picture that libgexiv2 reports.
package enum MediaFact: UInt8, CaseIterable, Sendable {
    case make, model, lens, orientation, captureDate, captureOffset, captureSubsecond, city, country
    /// Degrees as a decimal number.
    case latitude, longitude
    /// The bytes of the maker note, if it is Apple's.
    case appleNote
}

/// The facts about a picture, as texts; untrusted, because they come from a helper.
package struct MediaFacts: Equatable, Sendable {
    /// The maximum length of a stored text, and of a stored maker note, in bytes.
    package static let textByteLimit = 256, noteByteLimit = 64 * 1024

    package var texts: [MediaFact: [UInt8]] = [:]

    package init() {}
}

extension MediaFacts {
    /// The facts as the payload of a frame: for each, its number (8 bits), its length (32 bits), and its bytes.
    package var encoded: [UInt8] {
        MediaFact.allCases.reduce(into: []) { payload, fact in
            guard let text = self.texts[fact] else { return }
            payload.append(fact.rawValue)
            withUnsafeBytes(of: UInt32(text.count)) { payload += $0 }
            payload += text
        }
    }

    /// Decodes a payload; nil if it does not contain facts.
    package init?(encoded payload: [UInt8]) {
        var rest = payload[...]
        while let number = rest.popFirst() {
            guard let fact = MediaFact(rawValue: number), self.texts[fact] == nil, rest.count >= 4 else { return nil }
            let count = rest.withUnsafeBytes { Int($0.loadUnaligned(as: UInt32.self)) }
            rest = rest.dropFirst(4)
            guard count <= rest.count else { return nil }
            self.texts[fact] = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
    }
}

/// The frames of `blob-media-helper`, which runs libvips and libgexiv2.
///
/// The helper receives open files with its commands: first the file to read, then the pipe for the output.
///
/// | command | numbers | files | answers |
/// |---|---|---|---|
/// | `thumbnail` | a: size of the square in pixels; b: orientation, for `smallJPEGs` | the picture, the pipe | `done`, `declined` |
/// | `facts` | a: length of the file | the file | `facts` |
/// | `render` | a, b: size in pixels; c: quality, 1 to 100; payload: ``RenderStep`` | the picture, the pipe | `done` |
/// | `transform` | a: orientation; b: memory in bytes; payload: crop | the JPEG, the pipe | `done`, `declined` |
///
/// `transform` turns a JPEG losslessly, and then crops it if the payload has a ``RenderStep``. It is declined if the
/// blocks of the picture do not allow that, or if their coefficients take more memory.
///
/// | answer | numbers |
/// |---|---|
/// | `opened` | payload: the version of the library |
/// | `done` | a, b: width and height in pixels |
/// | `facts` | payload: ``MediaFacts`` |
/// | `declined` | none: nothing was written |
extension ExchangeFrame.Kind {
    package static let thumbnail = Self(rawValue: 32)
    package static let facts = Self(rawValue: 33)
    package static let render = Self(rawValue: 34)
    package static let transform = Self(rawValue: 35)
    package static let done = Self(rawValue: 48)
    package static let declined = Self(rawValue: 49)
}

/// The work of a helper process, which loads its libraries before it is confined.
package enum MediaTask: String, Sendable {
    /// Thumbnails and rendered pictures, with libvips.
    case pictures
    /// Thumbnails of JPEG files, with libturbojpeg, which saves the time for loading libvips.
    case smallJPEGs
    /// The facts about pictures, with libgexiv2.
    case facts

    /// The name of the library.
    package var library: String {
        switch self {
        case .pictures: "libvips"
        case .smallJPEGs: "libturbojpeg"
        case .facts: "libgexiv2"
        }
    }
}
