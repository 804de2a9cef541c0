package import BlobCore

/// A source or container whose index can be compared with everything that it describes.
package protocol IndexVerifying: Sendable {
    /// Decodes everything, and compares the index with it: each restart point and each window.
    ///
    /// Changes nothing.
    ///
    /// - Parameter report: Called with a sentence on each point that is wrong, in ascending order of the points.
    /// - Returns: The number of points; nil when there is no index of this content.
    /// - Throws: Errors of the content and of reading the index file.
    func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int?
}
