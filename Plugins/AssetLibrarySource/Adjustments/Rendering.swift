#if Photos
import BlobCore
import BlobHelper
import CryptoDigest
import HelperExchange

/// The rendering of the current version of an asset from a recipe.
struct Rendering {
    let asset: Asset
    let recipe: AdjustmentRecipe
    /// The JPEG quality, 1 to 100.
    let quality: Int
    private let cache: RenditionCache
    /// Opens the original, whose bytes are verified to be the imported bytes.
    let open: (BlobContext) throws(BlobError) -> OriginalFile

    /// - Parameters:
    ///   - quality: The JPEG quality, 0.01 to 1; other numbers are clamped.
    ///   - open: Opens the original after checking its bytes.
    init(
        _ asset: Asset, _ recipe: AdjustmentRecipe, quality: Double, _ cache: RenditionCache,
        open: @escaping (BlobContext) throws(BlobError) -> OriginalFile
    ) {
        self.asset = asset
        self.recipe = recipe
        self.quality = Int((min(1, max(0.01, quality.isNaN ? 1 : quality)) * 100).rounded())
        self.cache = cache
        self.open = open
    }

    /// The error for a rendering whose bytes differ from the first rendering.
    static let differentRenditionError = BlobError(.changed, "The picture was rendered again, with a different result.")

    /// Returns the size of the decoded original, and the steps of the rendering.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if the original is not a picture of known size.
    func plan() throws(BlobError) -> (size: PictureSize, plan: RenderPlan) {
        guard let size = DecodedPicture(self.asset.media).size else {
            throw BlobError(.unsupported, "The original is not a picture of a known size.")
        }
        return (size, try RenderPlan(self.recipe, for: size))
    }

    /// Returns the rendered picture, or only its info and digest if it is too long to cache.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` without a helper or libvips; errors reading or decoding the original.
    func rendition(_ context: BlobContext) throws(BlobError) -> Rendition {
        // The process is started to determine its version, and then used for rendering.
        var process: MediaProcess?
        let key = try self.key(context, &process)
        return try self.cache.rendition(key, context) { () throws(BlobError) in
            try self.render(process, context)
        }
    }

    /// All values that determine the rendered bytes.
    struct Key: Hashable {
        let rendererVersion: String
        let quality: Int
        let sha256: [UInt8]
        let recipe: AdjustmentRecipe
    }

    private func key(_ context: BlobContext, _ process: inout MediaProcess?) throws(BlobError) -> Key {
        if self.cache.rendererVersion == nil {
            let started = try MediaProcess(for: .pictures, context)
            self.cache.rendererVersion = started.libraryVersion
            process = started
        }
        return Key(
            rendererVersion: self.cache.rendererVersion ?? "", quality: self.quality, sha256: self.asset.sha256,
            recipe: self.recipe)
    }

    private func render(_ process: MediaProcess?, _ context: BlobContext) throws(BlobError) -> Rendition {
        let pass = try RenderingPass(self, process, context)
        var hasher = RenderingPass.makeHasher()
        let limit = self.cache.byteLimit
        var kept: [UInt8] = []
        var byteCount: Int64 = 0
        while case let bytes = try pass.next(), !bytes.isEmpty {
            bytes.withUnsafeBytes { hasher.update($0) }
            byteCount += Int64(bytes.count)
            if byteCount <= limit { kept += bytes } else { kept = [] }
        }
        let sha256 = hasher.finalize()
        // The validator is made from the bytes, because another version of a decoding library may produce different
        // bytes.
        let info = BlobInfo(
            byteCount: byteCount, mediaType: "image/jpeg", name: self.name,
            validator: .strong("sha256:\(sha256.hexadecimal)"))
        return Rendition(info, sha256: sha256, bytes: byteCount <= limit ? kept : nil)
    }

    /// The name of the asset, with a JPEG extension.
    private var name: String? {
        guard let name = self.asset.name, self.asset.media.mediaType != "image/jpeg" else { return self.asset.name }
        let stem = LibraryFolder.fileExtension(ofName: name).map { name.dropLast($0.count + 1) } ?? name[...]
        return "\(stem).jpg"
    }
}

/// A pass over a picture that is being rendered.
final class RenderingPass {
    private static let bufferByteCount = 64 << 10

    private let file: OriginalFile
    private let output: RenderingOutput
    private var header: RenderedHeader
    private let buffer: UnsafeMutableRawBufferPointer

    static func makeHasher() -> any BlobHasher { CryptoDigest.sha256.makeHasher() }

    /// Checks the original, and starts rendering it in a helper.
    ///
    /// - Parameter process: The helper; nil to start one.
    init(_ rendering: Rendering, _ process: MediaProcess?, _ context: BlobContext) throws(BlobError) {
        let asset = rendering.asset
        let (size, plan) = try rendering.plan()
        let file = try rendering.open(context)
        self.file = file
        self.header = RenderedHeader(for: plan.size)
        let helper: MediaProcess
        if let process { helper = process } else { helper = try MediaProcess(for: .pictures, context) }
        self.output = try RenderingOutput(
            helper, file.descriptor, plan, of: size, isJPEG: asset.media.mediaType == "image/jpeg",
            quality: rendering.quality)
        // Last, because an initializer that throws does not run `deinit`.
        self.buffer = .allocate(byteCount: Self.bufferByteCount, alignment: 4096)
    }

    deinit { self.buffer.deallocate() }

    /// Returns the next bytes, or an empty array at the end; throws if the original has changed.
    func next() throws(BlobError) -> [UInt8] {
        while true {
            let count = try self.output.read(into: self.buffer)
            guard count > 0 else {
                guard try self.file.status() == self.file.snapshot else {
                    throw BlobError(.changed, "The original was modified while it was being rendered.")
                }
                guard self.header.isComplete else { throw RenderedHeader.invalidHeaderError }
                return []
            }
            let bytes = try self.header.pass(UnsafeRawBufferPointer(rebasing: self.buffer[..<count]))
            if !bytes.isEmpty { return bytes }
        }
    }
}

/// A rendered picture, or only its info and digest if it is too long to cache.
final class Rendition: Sendable {
    let info: BlobInfo
    /// The SHA-256 of the bytes.
    let sha256: [UInt8]
    /// The bytes; nil for a picture that is too long to cache, which is rendered again for each reader.
    private let bytes: [UInt8]?

    init(_ info: BlobInfo, sha256: [UInt8], bytes: [UInt8]?) {
        (self.info, self.sha256, self.bytes) = (info, sha256, bytes)
    }

    func body(_ rendering: Rendering, _ context: BlobContext) throws(BlobError) -> BlobBody {
        guard let bytes else { return .stream(try RenditionStream(self, rendering, context), startingAt: 0) }
        return .positional(self.info) { byteOffset, output in
            bytes.withUnsafeBytes {
                _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[Int(byteOffset)...]))
            }
        }
    }
}

/// The bytes of a picture that is rendered again, with a check that they are the same as before.
private final class RenditionStream: BlobByteStream {
    let info: BlobInfo?
    private let sha256: [UInt8]
    private let pass: RenderingPass
    private var hasher = RenderingPass.makeHasher()
    private var rest: ArraySlice<UInt8> = []

    init(_ rendition: Rendition, _ rendering: Rendering, _ context: BlobContext) throws(BlobError) {
        (self.info, self.sha256) = (rendition.info, rendition.sha256)
        self.pass = try RenderingPass(rendering, nil, context)
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.rest.isEmpty {
            self.rest = try self.pass.next()[...]
            self.rest.withUnsafeBytes { self.hasher.update($0) }
            guard !self.rest.isEmpty || self.hasher.finalize() == self.sha256 else {
                throw Rendering.differentRenditionError
            }
        }
        return .moving(&self.rest, to: &output)
    }
}
#endif
