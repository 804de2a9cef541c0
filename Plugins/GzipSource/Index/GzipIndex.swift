import BlobCore
import BlobDeflate
internal import BlobIndex

/// An index that is ready for use, with its layout and access to its windows.
final class GzipIndex: CacheableIndex {
    let layout: GzipIndexLayout
    private let windows: IndexSection
    private let file: IndexFile
    private let recoveredWindows = Locked(RecoveredWindows())
    private let isDamageReported = Locked(false)
    private let invalidation = Locked(false)

    private init(_ layout: GzipIndexLayout, _ windows: IndexSection, _ file: IndexFile) {
        (self.layout, self.windows, self.file) = (layout, windows, file)
    }

    /// Loads the index of `content` from a file; returns nil if the index is missing or damaged.
    ///
    /// - Parameter tuning: The sizes with which the index was created.
    /// - Throws: The errors of reading the file.
    static func load(
        _ file: IndexFile, layer: String, content: IndexedContent, tuning: GzipTuning = .standard
    ) throws(BlobError) -> GzipIndex? {
        let spacing = tuning.minimumSpacing
        let limit = GzipIndexLayout.maximumEncodedByteCount(compressedByteCount: content.byteCount, spacing: spacing)
        guard let windows = try file.section(.windows(layer), for: content) else { return nil }
        return try file.load(.points(layer), for: content, atMost: limit) {
            let layout = try GzipIndexLayout(decoding: $0, spacing: spacing)
            return layout.points.compressedByteCount == content.byteCount ? GzipIndex(layout, windows, file) : nil
        }
    }

    /// True if the index turned out to describe bytes other than the content.
    var isInvalidated: Bool { self.invalidation.withLock { $0 } }

    /// Marks the index as describing bytes other than the content, despite matching validators.
    ///
    /// Removes the index file, unless the user specified it.
    func invalidate() {
        self.invalidation.withLock { $0 = true }
        self.discardFile()
    }

    /// Returns the last slice up to `slice` at which decoding can begin, and the window of its point.
    ///
    /// Skips slices whose window is damaged and has not been recovered.
    ///
    /// - Throws: The errors of reading the file, except damage.
    func start(at slice: Int) throws -> (slice: Int, window: [UInt8]) {
        for candidate in (0...slice).reversed() {
            do {
                return (candidate, try self.window(of: candidate))
            } catch is IndexMismatch {}
        }
        // The first point has no window.
        return (0, [])
    }

    /// Returns the window of a slice's restart point; empty for a point before a header.
    ///
    /// - Throws: ``IndexMismatch`` if the file is damaged there and the window has not been recovered; the errors of
    ///   reading the file.
    func window(of slice: Int) throws -> [UInt8] {
        do throws(BlobError) {
            return try self.windowInFile(of: slice)
        } catch {
            guard error.code == .corrupted else { throw error }
            self.discardFile()
            guard let window = self.recoveredWindows.withLock({ $0.windows[slice] }) else {
                throw IndexMismatch(error: error)
            }
            return window
        }
    }

    /// True if a window was found to be damaged.
    var isDamaged: Bool { self.isDamageReported.withLock { $0 } }

    /// Stores the window of a slice's restart point in memory for later readers if the window in the file is damaged.
    ///
    /// - Parameter window: The decoded bytes before the point, verified by the checksums of the index.
    func keepRecovered(_ window: [UInt8], of slice: Int) throws {
        guard self.layout.windows[slice] != nil, self.recoveredWindows.withLock({ $0.wants(slice) }) else { return }
        do throws(BlobError) {
            _ = try self.windowInFile(of: slice)
        } catch {
            guard error.code == .corrupted else { throw error }
            self.recoveredWindows.withLock { $0.insert(window, of: slice) }
        }
    }

    /// Returns true if all windows in the file are intact.
    func isWhole() throws(BlobError) -> Bool {
        do throws(BlobError) {
            for slice in self.layout.windows.indices { _ = try self.windowInFile(of: slice) }
            return true
        } catch {
            guard error.code == .corrupted else { throw error }
            self.discardFile()
            return false
        }
    }

    /// Removes the file from the folder for indexes, so that the next read of the whole blob creates a new index.
    ///
    /// A file that the user specified is kept.
    private func discardFile() {
        guard !self.isDamageReported.exchange(true) else { return }
        if !self.isInvalidated { self.file.reportRefusal(IndexFile.damageReason) }
        self.file.discard()
    }

    /// Returns the window of a slice's restart point from the file; empty for a point before a header.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the file is damaged there; the errors of reading the file.
    func windowInFile(of slice: Int) throws(BlobError) -> [UInt8] {
        guard let place = self.layout.windows[slice] else { return [] }
        let packed = try self.windows.read(at: place.byteOffset, count: place.byteCount)
        guard CRC32(of: packed).value == place.checksum else {
            throw BlobError(.corrupted, "The window of a restart point has a wrong checksum.")
        }
        return try Inflater.window(packed: packed[...])
    }
}

/// A mismatch between an index and the bytes that it describes.
struct IndexMismatch: Error {
    let error: BlobError
}

extension Error {
    /// True if the error was caused by the bytes or the index rather than by access to them.
    var isContentError: Bool { self is IndexMismatch || (self as? BlobError)?.isAboutContent == true }
}

/// The windows that are damaged in an index file, recovered by decoding past their restart points.
///
/// With these windows, decoding around the damage happens once per source rather than once per reader. At most 512
/// windows of 32 KiB (16 MiB) are stored; beyond that, only every second window, then every fourth, and so on.
struct RecoveredWindows {
    var maximumCount = 512
    private(set) var windows: [Int: [UInt8]] = [:]
    /// The distance between the slices whose windows are stored.
    private var stride = 1

    /// Returns true if the window of a slice should be stored and is not yet stored.
    func wants(_ slice: Int) -> Bool { slice % self.stride == 0 && self.windows[slice] == nil }

    /// Stores the window of a slice, and removes every second window if there are too many.
    mutating func insert(_ window: [UInt8], of slice: Int) {
        guard slice % self.stride == 0 else { return }
        self.windows[slice] = window
        while self.windows.count > self.maximumCount {
            self.stride *= 2
            self.windows = self.windows.filter { $0.key % self.stride == 0 }
        }
    }
}

extension IndexSection.Key {
    static func points(_ layer: String) -> Self { Self(layer: layer, kind: .restartPoints) }
    static func windows(_ layer: String) -> Self { Self(layer: layer, kind: .windows) }
}

extension IndexSection.Kind {
    /// The packed windows of restart points.
    fileprivate static let windows = Self("WNDW")
}
