import BlobCore

/// The URL to which redirections led the requests for an object: later ones begin there.
///
/// Forgotten when a request there fails before its answer begins. A refusal that can mean that the URL expired, as
/// those that are signed do, sends the request to its own URL once more.
package final class Relocation: Sendable {
    /// A URL, and whether a redirection on the way there left the origin to which secrets belong.
    struct Place: Sendable {
        let url: TransferURL
        let hasLeftOrigin: Bool
    }

    /// The statuses, of those from 400 to 499, that do not mean that a URL expired: they are about a range or a
    /// condition, or ask for patience.
    private static let lastingStatuses: Set = [408, 412, 416, 425, 429]

    let place = Locked<Place?>(nil)

    package init() {}

    /// Returns true for a status that the first URL may not have.
    static func mayHaveExpired(_ status: Int) -> Bool {
        (400..<500).contains(status) && !self.lastingStatuses.contains(status)
    }
}
