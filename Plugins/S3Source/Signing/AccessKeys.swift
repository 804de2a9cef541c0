import BlobPlatform

/// The credentials of a user of a store. Nothing of them appears in descriptions.
struct AccessKeys: Sendable, Equatable {
    /// The access key ID.
    let identifier: String
    /// The secret access key.
    let secret: String
    /// The token of temporary credentials; nil for others.
    var sessionToken: String?
    /// The moment from which the store refuses them; nil is never.
    var expiration: Date?
}

extension AccessKeys: CustomStringConvertible, CustomReflectable {
    var description: String { "AccessKeys(***)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
