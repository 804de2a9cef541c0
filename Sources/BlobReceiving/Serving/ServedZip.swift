import BlobCore
import BlobPlatform
import ZipArchive

/// Makes zips of served folders.
final class ServedZips: Sendable {
    /// The maximum number of entries of a zip, and of all zips that are kept for the next range, because they are in
    /// memory.
    private static let maximumEntryCount = 100_000
    private let kept = Locked<[(validator: BlobValidator, zip: ZipBody)]>([])

    /// Returns the zip of the files in a folder and its subfolders. Links are left out.
    ///
    /// - Parameters:
    ///   - path: The path in `folder`.
    ///   - name: The name of the zip.
    /// - Throws: ``BlobError/Code/limitExceeded`` for too many files; the errors of the folder.
    func zip(
        _ folder: any ServedFolder, _ path: ArraySlice<[UInt8]>, name: [UInt8], _ context: BlobContext
    ) throws -> ServedBlob {
        var (composer, newest, rest): (ZipComposer, FileStatus?, [[[UInt8]]]) = (ZipComposer(), nil, [Array(path)])
        while let parent = rest.popLast() {
            for entry in try folder.list(parent[...], 0..<Int.max, context).entries {
                let inner = parent + [entry.component ?? entry.name]
                var added = ZipEntry(name: Array(inner.dropFirst(path.count).joined(separator: [UInt8(ascii: "/")])))
                added.modificationTime = entry.modificationTime.map { Date(timeIntervalSince1970: Double($0)) }
                guard composer.entryCount < Self.maximumEntryCount else {
                    throw BlobError(
                        .limitExceeded, "The folder has more files than the limit of \(Self.maximumEntryCount).")
                }
                switch entry.kind {
                case .folder:
                    try composer.appendFolder(added)
                    rest.append(inner)
                case .file:
                    guard let blob = try folder.find(inner[...], context)?.blob else { continue }
                    let source = ServedFile(folder: folder, path: inner, info: try blob.source.info(context))
                    if blob.file?.lastChange ?? 0 >= newest?.lastChange ?? 0 { newest = blob.file ?? newest }
                    try composer.appendEntry(added, source: source)
                case .link, .other: break
                }
            }
        }
        return ServedBlob(source: self.keeping(try composer.body(context: context)), name: name, file: newest)
    }

    /// Returns an equal zip that was made before, which may know more checksums.
    private func keeping(_ zip: ZipBody) -> ZipBody {
        guard let validator = zip.describe(BlobContext()).validator else { return zip }
        return self.kept.withLock { kept in
            let known = kept.firstIndex { $0.validator == validator }.map { kept.remove(at: $0).zip } ?? zip
            kept.append((validator, known))
            while kept.count > 1, kept.reduce(0, { $0 + $1.zip.entryCount }) > Self.maximumEntryCount {
                kept.removeFirst()
            }
            return known
        }
    }
}

/// A file of a served folder, which is found again when it is opened, so that many files need no descriptors.
private struct ServedFile: BlobInputStreamDataSource {
    let folder: any ServedFolder
    let path: [[UInt8]]
    let info: BlobInfo

    func describe(_ context: BlobContext) -> BlobInfo { self.info }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        guard let blob = try self.folder.find(self.path[...], opening.context)?.blob else { throw BlobError.noSuchPath }
        return .inspected(try blob.source.open(opening), UnchangedBytes(), startingAt: opening.byteOffset)
    }
}

extension FileStatus {
    fileprivate var lastChange: Int64 { max(self.modificationTime, self.statusChangeTime) }
}
