import BlobCore
import Foundation

/// The making of a catalogue from the journal, in place of one that is lost or damaged.
struct CatalogueRebuild {
    private let folder: LibraryFolder
    private let url: URL

    /// The name of the new catalogue until it is complete; begins that of its log too.
    private static let newName = "catalog.sqlite.new"

    init(_ folder: LibraryFolder, _ url: URL) {
        (self.folder, self.url) = (folder, url)
    }

    /// Writes the new catalogue, sets the old one aside in the quarantine, and puts the new one in its place.
    ///
    /// Called under the exclusive lock. After a crash, it can be run again.
    ///
    /// - Returns: The number of lines of the journal that were damaged.
    func run() throws -> Int {
        let skippedLineCount: Int
        let root = try Folder(self.folder.path)
        let folders = try OriginalsFolder(making: self.folder)
        for suffix in Catalogue.fileSuffixes { try root.removeFile(named: Self.newName + suffix) }
        do {
            let library = try AssetLibrary(rebuilding: self.url, catalogueName: Self.newName)
            let journal = library.journal
            // A commit that comes in between is in the rest, with which the new catalogue catches up.
            let place = journal.place
            let state = try JournalState(journal)
            skippedLineCount = state.skippedLineCount
            try library.catalogue.write { db in
                try library.replay(state, keepsMissing: true, db)
                try Catalogue.setJournalPlace(place, db)
            }
            try library.catalogue.close()
        }
        let new = try root.openFile(named: Self.newName, O_RDWR)
        defer { close(new) }
        guard uninterrupted({ fsync(new) }) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not synchronise the new catalogue")
        }
        for suffix in Catalogue.fileSuffixes {
            try folders.setAside(Catalogue.fileName + suffix, in: root)
            if !suffix.isEmpty { try root.removeFile(named: Self.newName + suffix) }
        }
        try root.replaceFile(named: Catalogue.fileName, by: Self.newName)
        return skippedLineCount
    }
}
