/// The frames of `blob-archive-helper`, which runs libarchive.
///
/// | command | numbers | answers |
/// |---|---|---|
/// | `open` | b: 1 with random access; c: length of the archive or -1 | `opened` |
/// | `next` | | `entry`, `end` |
/// | `block` | | `data`, `end` |
///
/// | answer | numbers |
/// |---|---|
/// | `entry` | payload: ``ExchangedEntry`` |
/// | `data` | a: offset in the member; b: place in the shared memory; c: number of bytes |
/// | `end` | a: after `block`, length of the member; after `next`, offset of the data after the archive |
///
/// The output are bytes of members. Those that libarchive returns as they are in the archive stay where they are.
extension ExchangeFrame.Kind {
    package static let next = Self(rawValue: 2)
    package static let block = Self(rawValue: 3)
    package static let entry = Self(rawValue: 17)
    package static let data = Self(rawValue: 18)
    package static let end = Self(rawValue: 19)
}
