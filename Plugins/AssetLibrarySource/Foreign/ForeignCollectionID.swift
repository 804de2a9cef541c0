/// The identifier of a collection in another program's catalogue: its kind, and the number of its row.
struct ForeignCollectionID {
    let kind: AssetCollection.Kind
    let number: Int64

    /// Parses a text as `album/12`; nil for any other.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = AssetCollection.Kind(rawValue: String(parts[0])),
            [.album, .tag, .event].contains(kind), let number = Int64(parts[1])
        else { return nil }
        (self.kind, self.number) = (kind, number)
    }
}
