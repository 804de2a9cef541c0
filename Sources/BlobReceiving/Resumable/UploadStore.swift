public import BlobCore
public import BlobPlatform

/// Keeps the bytes and the records of resumable uploads. ``UploadFolder`` keeps them in files.
///
/// The records are small and are replaced as a whole. Whatever a call reported as kept remains after a kill of the
/// process.
public protocol UploadStore: Sendable {
    /// Creates the bytes of an upload, empty; existing bytes are removed, which an interrupted creation left.
    ///
    /// - Parameter identifier: 32 hexadecimal digits.
    /// - Throws: An error if other receivers use the upload, and the errors of the storage.
    func create(_ identifier: String) throws(BlobError) -> any StoredUpload

    /// Opens the bytes of an upload; nil if there are none.
    ///
    /// - Throws: An error if other receivers use the upload, and the errors of the storage.
    func open(_ identifier: String) throws(BlobError) -> (any StoredUpload)?

    /// Returns the record of an upload; nil for an unknown upload.
    func record(of identifier: String) throws(BlobError) -> Data?

    /// Replaces the record of an upload.
    func keep(record: Data, of identifier: String) throws(BlobError)

    /// Removes the record of an upload, if there is one.
    func removeRecord(of identifier: String)
}

extension UploadStore {
    func keep(_ record: UploadRecord, of identifier: String) throws(BlobError) {
        let bytes = try BlobError.wrapping { try JSONEncoder().encode(record) }
        try self.keep(record: bytes, of: identifier)
    }
}

/// The bytes of a resumable upload, used by one thread at a time.
public protocol StoredUpload: AnyObject, Sendable {
    /// True until the bytes are discarded, or published and discarded.
    var isPresent: Bool { get }

    /// True if the bytes were published, even by an earlier process.
    var isPublished: Bool { get }

    /// Returns the number of bytes.
    func byteCount() throws(BlobError) -> Int64

    /// Writes bytes. Advances `byteOffset` by the number of stored bytes, so that it is correct even after an error.
    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: inout Int64) throws(BlobError)

    /// Reads the first `byteCount` bytes, and calls `take` with each piece.
    func read(_ byteCount: Int64, _ take: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError)

    /// Removes the bytes from an offset on.
    func truncate(to byteCount: Int64) throws(BlobError)

    /// Waits until all bytes would survive a power failure.
    func synchronize() throws(BlobError)

    /// Makes the complete bytes available to the owner of the store, as an effect that survives a power failure.
    ///
    /// - Returns: The path of the file; nil if the store has no files.
    func publish(_ part: ReceivedPart) throws(BlobError) -> String?

    /// Removes the bytes from the store; published ones remain.
    func discard()
}
