import BlobCore

extension ArchiveFormat {
    /// Returns the members of an archive of this format.
    ///
    /// - Parameters:
    ///   - pass: The pass in which members are read; nil to read each on its own.
    ///   - zip: What the members of a zip share in a pass; nil to read each on its own.
    ///   - sevenZip: What is known about a 7z; nil for another format.
    func catalogue(
        of base: any BlobInputStreamDataSource, _ tables: TableHolder, _ pass: ArchivePass?,
        _ zip: ZipPass?, _ sevenZip: SevenZipArchive?
    ) -> any ArchiveCatalogue {
        if self == .zip { return ZipCatalogue(base: base, tables: tables, pass: zip) }
        let walked = WalkedCatalogue(base: base, format: self, tables: tables, pass: pass)
        return sevenZip.map { SevenZipCatalogue(archive: $0, walked: walked) } ?? walked
    }
}
