#if Photos
public import BlobCore
import BlobHelper
public import Foundation

/// A source of a version of an asset, as the catalogue describes it when a reader is opened.
///
/// The current version of an adjusted picture is rendered as JPEG, by a helper process with libvips; all other content
/// is read as stored. A rendered picture of at most ``AssetSource/maximumRenditionByteCount`` bytes stays in memory
/// while its readers are open, and until another picture is rendered. A longer picture is rendered once to determine
/// its length, and again for each reader. The validator of a rendered picture is made from the digest of its bytes.
///
/// An original has random access, and a strong validator made from its digest. From any offset, a reader verifies the
/// digest of each block of ``AssetSource/windowByteCount`` bytes before it delivers the block's first byte. If bytes
/// are damaged on the disk, it throws ``BlobError/Code/checksumMismatch``, and delivers no byte of their block. Small
/// reads are served from the most recently read block. An original that an older version imported is read once, from
/// start to end, when it is first opened, to compute the digests of its blocks.
///
/// A reader detects if the original is moved, touched or rewritten, or if the catalogue describes the asset
/// differently, as after an edit. It checks this before each block and at the end, and, if its context has an event
/// sink, also between reads. After a change, it reports ``BlobEvent/Kind/invalidated`` and
/// ``BlobEvent/Kind/recovering``, and queries the catalogue again. If the content is unchanged, it continues at the
/// next byte, with ``BlobEvent/Kind/recovered``; otherwise it throws ``BlobError/Code/changed`` with a message that
/// contains the asset's current generation and validator.
public struct AssetSource: BlobInputStreamDataSource {
    /// The effect on a reader when the asset or its file is removed, or replaced by another file of the same name.
    public enum RemovalPolicy: Sendable {
        /// The reader continues to the end of the bytes for which it was opened, using its open file.
        case finish
        /// The reader throws ``BlobError/Code/changed``.
        case fail
    }

    /// A version of an asset.
    public enum Version: Sendable {
        /// The picture with its adjustment, or the original of an asset without an adjustment. A reader throws
        /// ``BlobError/Code/changed`` if the asset is adjusted again.
        case current
        /// The imported bytes, which adjustments do not change.
        case original
    }

    /// The treatment of a picture with an adjustment that this library cannot render.
    public enum UnrenderablePolicy: Sendable {
        /// Opening throws ``BlobError/Code/unsupported`` with a message that names the adjustments.
        case fail
        /// The original is read.
        case original
        /// The picture rendered by another program is read, if the library contains such a picture for this adjustment;
        /// otherwise, opening throws ``BlobError/Code/unsupported``.
        case storedRender
    }

    /// The default quality of rendered pictures.
    public static let renderingQuality = 0.93

    /// The maximum size, in bytes, of a rendered picture that is kept in memory.
    public static let maximumRenditionByteCount = RenditionCache.defaultByteLimit

    /// The number of bytes that a reader fetches and verifies at once; smaller reads are served from a buffer.
    public static let windowByteCount = BlockDigests.blockByteCount

    private let id: String
    private let fileExtension: String?
    private let options: Options
    /// Returns the backend of the catalogue, opening the catalogue at the first call.
    let backend: @Sendable () throws(BlobError) -> any AssetBackend

    /// - Parameter id: The identifier in the catalogue; for an ``AssetLibrary``, the UUID as text.
    init(
        _ id: String, fileExtension: String?, _ options: Options,
        backend: @escaping @Sendable () throws(BlobError) -> any AssetBackend
    ) {
        self.id = id
        self.fileExtension = fileExtension
        self.options = options
        self.backend = backend
    }

    /// The traits of an asset: it can be opened repeatedly and read on several threads at once, and its reads may
    /// block.
    public var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    /// The asset's URL.
    public var locator: BlobLocator? {
        BlobLocator(
            asset: self.id, fileExtension: self.fileExtension, version: self.options.version,
            unrenderable: self.options.unrenderable)
    }

    /// Returns the info from the catalogue, without accessing the file.
    ///
    /// An adjusted picture is rendered to determine its length.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the asset does not exist; errors opening the library; for an adjusted
    ///   picture, the errors thrown by ``makeBody(_:)``.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        switch try self.content(context) {
        case .file(let asset, _, _): asset.info
        case .rendering(let rendering): try rendering.rendition(context).info
        }
    }

    /// Opens the original, with a separate descriptor for each reader, or renders the picture.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for an adjustment that cannot be rendered, ``BlobError/Code/truncated``
    ///   or ``BlobError/Code/corrupted`` for an incomplete or damaged picture, ``BlobError/Code/unavailable`` if the
    ///   helper or libvips is missing, ``BlobError/Code/notFound`` if the asset or its original is missing,
    ///   ``BlobError/Code/sizeMismatch`` if the original has another length, ``BlobError/Code/invalidArgument`` for an
    ///   offset past the end, and ``BlobError/Code/changed`` if the content does not match the expected validator.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let (context, byteOffset, removal) = (opening.context, opening.byteOffset, self.options.removal)
        let (body, asset): (BlobBody, Asset?)
        switch try self.content(context) {
        case .file(let original, let resolver, let shown):
            // Checked before opening the file.
            try original.info.check(byteOffset: byteOffset, matching: opening.validator)
            let stream = try AssetStream(
                original, resolver, at: byteOffset, version: self.options.version, removal: removal, context)
            (body, asset) = (.stream(stream, startingAt: byteOffset), shown)
        case .rendering(let rendering):
            let rendition = try rendering.rendition(context)
            // Checked before rendering a long picture again.
            try rendition.info.check(byteOffset: byteOffset, matching: opening.validator)
            (body, asset) = (try rendition.body(rendering, context), rendering.asset)
        }
        guard let asset else { return body }
        let followed = AssetChangeInspector(asset, try self.resolver, at: byteOffset, removal: removal, context)
        return .inspected(try BlobReader(body, opening), followed, startingAt: byteOffset)
    }

    /// The content of a version.
    enum Content {
        /// The file of an asset; `shows` is the asset of which it is a render, if any.
        case file(Asset, AssetResolver, shows: Asset?)
        case rendering(Rendering)
    }

    func content(_ context: BlobContext) throws(BlobError) -> Content {
        let resolver = try self.resolver
        let asset = try resolver.asset(context)
        guard self.options.version == .current else { return .file(asset, resolver, shows: nil) }
        switch try resolver.backend.adjustment(of: asset) {
        case .none: return .file(asset, resolver, shows: nil)
        case .renderable(let recipe):
            let cache = resolver.backend.renditions
            return .rendering(
                Rendering(asset, recipe, quality: self.options.quality, cache) { context throws(BlobError) in
                    try resolver.verifiedFile(of: asset, context)
                })
        case .notRenderable(let identifiers):
            if self.options.unrenderable == .original { return .file(asset, resolver, shows: nil) }
            if self.options.unrenderable == .storedRender, let render = try resolver.backend.render(of: asset) {
                let resolver = AssetResolver(backend: resolver.backend, id: render)
                return .file(try resolver.asset(context), resolver, shows: asset)
            }
            throw BlobError(
                .unsupported,
                "The picture has an adjustment that cannot be rendered (\(identifiers.joined(separator: ", "))); "
                    + "add '&unrenderable=original' to its URL to read the original, or '&unrenderable=render' to "
                    + "read a picture that another program rendered, if the library has one.")
        }
    }

    var resolver: AssetResolver {
        get throws(BlobError) { AssetResolver(backend: try self.backend(), id: self.id) }
    }

    /// The options of a source.
    struct Options {
        var version = Version.current
        var unrenderable = UnrenderablePolicy.fail
        var quality = AssetSource.renderingQuality
        var removal = RemovalPolicy.finish
    }
}

extension AssetSource: BlobDescribing {
    /// Returns the facts about the picture or the video.
    ///
    /// The facts come from the catalogue, or, for a file in another program's catalogue, from the helper, if available.
    ///
    /// For an adjusted picture, adds the length and the digest of its original.
    ///
    /// - Throws: The errors thrown by ``describe(_:)``, except errors from rendering, because nothing is rendered.
    public func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        var media: MediaDescription
        let original: Asset?
        switch try self.content(context) {
        case .file(let asset, let resolver, let shown):
            (media, original) = (try resolver.backend.media(of: asset, context), shown)
        case .rendering(let rendering):
            (media, original) = (try self.backend().media(of: rendering.asset, context), rendering.asset)
            let size = try rendering.plan().plan.size
            (media.pixelWidth, media.pixelHeight, media.orientation) = (size.width, size.height, 1)
        }
        let number = { (value: Int?) in value.map { Int64($0) } }
        let degrees = { (value: Double?) in value.map { "\($0)" } }
        let facts: [(String, (any Encodable & Sendable)?)] = [
            ("width in pixels", number(media.pixelWidth)),
            ("height in pixels", number(media.pixelHeight)),
            ("orientation", number(media.orientation)), ("capture date", media.captureTime),
            ("camera make", media.cameraMake),
            ("camera model", media.cameraModel), ("lens model", media.lensModel),
            ("latitude in degrees", degrees(media.latitude)), ("longitude in degrees", degrees(media.longitude)),
            ("city", media.city), ("country", media.country), ("duration in milliseconds", media.duration),
            ("codec", media.codec), ("live photo id", media.livePhotoID),
            ("adjusted", original.map { _ in true }), ("original bytes", original?.byteCount),
            ("original media type", original?.media.mediaType), ("original sha256", original?.sha256.hexadecimal),
        ]
        return facts.compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}

extension BlobProvider {
    /// Returns a provider of `assets-library` and `ph` locators, for the assets of the library or other catalogue in
    /// `folder`.
    ///
    /// See ``AssetLibrary/catalogue(at:)``. The catalogue is opened for reading when the first asset is resolved, and
    /// stays open. In the query of a locator, `version=original` selects ``AssetSource/Version/original``;
    /// `unrenderable=original` and `unrenderable=render` select a case of ``AssetSource/UnrenderablePolicy``.
    ///
    ///     var registry = BlobRegistry.standard
    ///     try registry.register(.assetLibrary(at: folder))
    public static func assetLibrary(at folder: URL) -> BlobProvider {
        self.assetLibrary { folder }
    }

    /// Returns a provider like ``assetLibrary(at:)``, for a folder that is determined when the first asset is resolved.
    ///
    /// - Parameters:
    ///   - unrenderable: The treatment of a picture that cannot be rendered, unless its URL specifies a treatment.
    ///   - folder: Returns the folder, or throws if it is unknown. Called again after each error.
    package static func assetLibrary(
        unrenderable: AssetSource.UnrenderablePolicy = .fail,
        at folder: @escaping @Sendable () throws(BlobError) -> URL
    ) -> BlobProvider {
        let opened = Locked<(any AssetBackend)?>(nil)
        let backend = { @Sendable () throws(BlobError) -> any AssetBackend in
            // Opened under the lock, so that concurrent first uses open the library only once.
            try opened.withLock { (backend: inout (any AssetBackend)?) throws(BlobError) -> any AssetBackend in
                if let backend { return backend }
                let opened = try AssetLibrary.catalogue(at: folder()).backend
                backend = opened
                return opened
            }
        }
        return BlobProvider(
            .origin { locator, _ in
                var id = try locator.catalogueID()
                let options = AssetSource.Options(
                    version: try locator.assetVersion(), unrenderable: try locator.unrenderablePolicy() ?? unrenderable)
                if try backend() is AssetLibrary { id = try locator.assetID().uuidString }
                return AssetSource(id, fileExtension: locator.assetExtension, options, backend: backend)
            }, schemes: [BlobLocator.assetScheme, BlobLocator.photoScheme])
    }
}
#endif
