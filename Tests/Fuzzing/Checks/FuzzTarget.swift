import BlobTestSupport

/// A parser, and the check that any bytes at all are given to.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// The framing of gzip, zlib and raw deflate. The first byte selects the format and how the bytes come.
    case gzip
    /// The directory of a zip, and its members.
    case zip
    /// The headers of a tar, and its members.
    case tar
    /// The header of a 7z, and its members.
    case sevenzip
    /// An index file of a gzip that is intact.
    case index
    /// The index file of another tool, of a gzip that is intact.
    case tools
    /// An index file of the blocks of a bzip2 or of Zstandard data that are intact. The first byte selects the data.
    case blocks
    /// An index file of an archive that is intact. The first byte selects the archive.
    case table
    /// A multipart body.
    case multipart
    /// The head of a response of HTTP, or a request for served content. The first byte selects which.
    case http
    /// The header fields with digests.
    case digests
    /// An XML document, perhaps an XMP packet.
    case xml
    /// Requests of resumable uploads.
    case tus
    /// A gzip, which is the same however it is read, and as zlib has it.
    case differential

    /// The length of the longest input worth trying, in bytes.
    package var maximumByteCount: Int {
        switch self {
        case .gzip, .differential, .http, .digests, .tus: 4096
        case .zip, .tar, .sevenzip, .multipart, .xml: 8192
        case .index, .blocks, .table: 16_384
        case .tools: 40_000
        }
    }

    /// Checks the rules that hold for any bytes.
    ///
    /// Takes milliseconds and some mebibytes, and leaves no file.
    ///
    /// - Throws: ``FuzzFailure`` when a rule is broken.
    package func check(_ bytes: [UInt8]) throws {
        switch self {
        case .gzip: try checkFraming(bytes)
        case .zip: try checkZip(bytes)
        case .tar: try checkTar(bytes)
        case .sevenzip: try checkSevenZip(bytes)
        case .index: try checkIndex(bytes)
        case .tools: try checkToolIndex(bytes)
        case .blocks: try checkBlockIndex(bytes)
        case .table: try checkTable(bytes)
        case .multipart: try checkMultipart(bytes)
        case .http: try checkHead(bytes)
        case .digests: try checkDigests(bytes)
        case .xml: try checkMarkup(bytes)
        case .tus: try checkResumable(bytes)
        case .differential: try checkGzip(bytes)
        }
    }

    /// Changes mutated bytes so that they pass the checksums of their format, most of the time: what comes behind a
    /// checksum is never reached otherwise.
    ///
    /// - Parameter seed: The source of all choices.
    package func repair(_ bytes: inout [UInt8], seed: UInt64) {
        var random = SplitMix64(seed: seed)
        // A quarter stays as it is.
        guard random.next() % 4 != 0 else { return }
        switch self {
        case .gzip: repairFraming(&bytes, using: &random)
        case .differential: repairGzip(&bytes, using: &random)
        case .zip: repairZip(&bytes)
        case .tar: repairTar(&bytes)
        case .sevenzip: repairSevenZip(&bytes)
        case .index: repairIndex(&bytes, from: 0, using: &random)
        case .blocks, .table: repairIndex(&bytes, from: 1, using: &random)
        case .tools, .multipart, .http, .digests, .xml, .tus: break
        }
    }
}
