import BlobCore

/// A listing of the members of an archive, made without a table.
struct ArchiveListing {
    let base: any BlobInputStreamDataSource
    let format: ArchiveFormat
    let context: BlobContext

    /// Calls `body` with each member in turn, until it returns false.
    ///
    /// - Parameter recording: Receives all members and their places.
    func forEach(_ recording: TableRecording?, _ body: (BlobMember) throws -> Bool) throws {
        if self.format == .zip {
            return try ZipListing(base: self.base, context: self.context).forEach(recording, body)
        }
        let walker = try self.format.walker(over: self.base, self.context)
        while let entry = try walker.next() {
            recording?.append(entry.member, at: walker.place)
            guard try body(entry.member) else { return }
        }
        try walker.finish()
        try recording?.finish()
    }
}
