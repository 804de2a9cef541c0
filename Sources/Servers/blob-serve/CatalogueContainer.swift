#if Receiver && Photos
import AssetLibrarySource
import BlobReceiving
import BlobStreamsStandard
import Foundation

/// The assets of a library as the members of a container.
private struct CatalogueContainer: BlobContainer {
    let catalogue: any AssetCatalogue
    /// The identifiers of the assets, in the order in which they were listed last.
    private let identifiers = Locked<[String]>([])

    init(_ catalogue: any AssetCatalogue) { self.catalogue = catalogue }

    func member(_ selector: BlobLocator.Selector, context: BlobContext) throws -> any BlobInputStreamDataSource {
        let index =
            if case .index(let index) = selector { index } else { try self.findMember(selector, context).index }
        let identifier = self.identifiers.withLock { $0.indices.contains(index) ? $0[index] : nil }
        guard let identifier else { throw BlobError(notFound: selector) }
        return self.catalogue.source(for: identifier)
    }

    func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws {
        var identifiers: [String] = []
        var members: [BlobMember] = []
        try self.catalogue.forEachCataloguedAsset(in: nil) { asset in
            try context.check()
            guard !asset.isMissing else { return }
            let name = (asset.name ?? asset.id).replacing("/", with: "_")
            members.append(
                BlobMember(
                    index: identifiers.count, name: Array(name.utf8), byteCount: asset.byteCount,
                    modificationTime: asset.modificationDate))
            identifiers.append(asset.id)
        }
        self.identifiers.withLock { $0 = identifiers }
        for member in members { guard try body(member) else { return } }
    }
}

extension ServeProgram {
    /// Returns the assets of the library, or of the other catalogue, at a path.
    static func item(library path: String) throws -> ServedBlobs.Item {
        let url = URL(fileURLWithPath: path)
        return ServedBlobs.Item(
            url.lastPathComponent, .container(CatalogueContainer(try AssetLibrary.catalogue(at: url))))
    }
}
#endif
