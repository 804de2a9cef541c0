import BlobCore

extension ArchiveFormat {
    /// Returns the members of an archive of this format.
    ///
    /// - Parameter pass: The pass in which members are read; nil to read each on its own.
    func catalogue(
        of base: any BlobInputStreamDataSource, _ tables: TableHolder, _ pass: ArchivePass?
    ) -> any ArchiveCatalogue {
        self == .zip
            ? ZipCatalogue(base: base, index: tables.policy)
            : WalkedCatalogue(base: base, format: self, tables: tables, pass: pass)
    }
}
