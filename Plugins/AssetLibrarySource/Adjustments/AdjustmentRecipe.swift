import BlobCore
import Foundation

/// The operations that make the current version of a picture from its original.
///
/// They apply in their order to the pixels as stored, without the orientation in the metadata: a recipe for a picture
/// with one begins with it. As JSON, a recipe has the envelope of Apple's `PHAdjustmentData`: an identifier and a
/// version of its format.
package struct AdjustmentRecipe: Hashable, Sendable {
    static let formatIdentifier = "org.blobstreams.adjustment"
    static let formatVersion = "1"
    /// The largest number of operations.
    static let operationLimit = 64
    /// The length of the longest recipe as JSON, in bytes.
    static let byteLimit = 256 << 10

    package var operations: [AdjustmentOperation]

    package init(_ operations: [AdjustmentOperation]) { self.operations = operations }

    /// The JSON with sorted keys and without white space: equal recipes have equal bytes.
    var canonical: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let document = Document(
            formatIdentifier: Self.formatIdentifier, formatVersion: Self.formatVersion, operations: self.operations)
        // Numbers that JSON lacks are outside of the ranges of all values.
        return (try? encoder.encode(document)).map(Array.init) ?? []
    }

    /// Decodes JSON.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for another format, version or operation, ``BlobError/Code/corrupted``,
    ///   ``BlobError/Code/limitExceeded``.
    init(_ json: [UInt8]) throws(BlobError) {
        guard json.count <= Self.byteLimit else {
            throw BlobError(.limitExceeded, "A recipe has \(json.count) bytes, more than \(Self.byteLimit).")
        }
        do {
            let decoder = JSONDecoder()
            let format = try decoder.decode(Format.self, from: Data(json))
            guard format.formatIdentifier == Self.formatIdentifier, format.formatVersion == Self.formatVersion else {
                throw BlobError(
                    .unsupported, "A recipe has the format \(format.formatIdentifier) \(format.formatVersion).")
            }
            self.operations = try decoder.decode(Document.self, from: Data(json)).operations
        } catch let error as BlobError where error.code == .unsupported {
            throw error
        } catch {
            throw BlobError(.corrupted, "The recipe is not valid.", cause: error)
        }
        try self.check()
    }

    /// Checks the ranges of all values.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument``, ``BlobError/Code/limitExceeded``.
    func check() throws(BlobError) {
        guard self.operations.count <= Self.operationLimit else {
            throw BlobError(.limitExceeded, "A recipe has more than \(Self.operationLimit) operations.")
        }
        for operation in self.operations { try operation.check() }
    }

    private struct Format: Decodable {
        let formatIdentifier: String
        let formatVersion: String
    }

    private struct Document: Codable {
        let formatIdentifier: String
        let formatVersion: String
        let operations: [AdjustmentOperation]
    }
}

/// The adjustment of an asset, by the first of its descriptions that is found.
package enum Adjustment: Hashable, Sendable {
    /// The original is the current version.
    case none
    /// The recipe gives the current version.
    ///
    /// - isExact: False when the program that wrote it may render other pixels.
    case renderable(AdjustmentRecipe, isExact: Bool)
    /// The picture was adjusted in ways that only the program that did it can render; the identifiers name them.
    case notRenderable([String])
}
