internal import CArchive

/// The facts that libarchive reports about a member.
package struct ExchangedEntry: Equatable {
    /// A fact that a member may or may not have.
    package struct Facts: OptionSet {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let byteCount = Facts(rawValue: 1)
        package static let time = Facts(rawValue: 2)
        package static let hardLink = Facts(rawValue: 4)
        package static let symbolicLink = Facts(rawValue: 8)
        package static let warning = Facts(rawValue: 16)
        package static let isEncrypted = Facts(rawValue: 32)
    }

    package var facts: Facts = []
    /// The type and the permissions, with the values of `AE_IFMT` and so on.
    package var mode: UInt32 = 0
    package var linkCount: UInt32 = 0
    package var byteCount: Int64 = 0
    /// The time of the last modification, in seconds since 1970, and nanoseconds.
    package var seconds: Int64 = 0
    package var nanoseconds: Int64 = 0
    package var name: [UInt8] = []
    /// The target of a link; a hard link takes precedence over a symbolic one.
    package var target: [UInt8] = []
    package var warning: [UInt8] = []

    package init() {}

    /// Copies the facts of an entry of libarchive.
    ///
    /// - Parameter warning: The warning about the header; nil if there was no warning.
    package init(_ entry: OpaquePointer, warning: [UInt8]?) {
        let hardLink = bytes(blob_archive_entry_hardlink(entry))
        let symbolicLink = bytes(blob_archive_entry_symlink(entry))
        self.mode = UInt32(blob_archive_entry_mode(entry))
        self.linkCount = UInt32(clamping: blob_archive_entry_nlink(entry))
        self.byteCount = blob_archive_entry_size(entry)
        self.seconds = Int64(blob_archive_entry_mtime(entry))
        self.nanoseconds = Int64(blob_archive_entry_mtime_nsec(entry))
        self.name = bytes(blob_archive_entry_pathname(entry) ?? blob_archive_entry_pathname_utf8(entry)) ?? []
        self.target = hardLink ?? symbolicLink ?? []
        self.warning = warning ?? []
        if blob_archive_entry_size_is_set(entry) != 0 { self.facts.insert(.byteCount) }
        if blob_archive_entry_mtime_is_set(entry) != 0 { self.facts.insert(.time) }
        if hardLink != nil { self.facts.insert(.hardLink) }
        if symbolicLink != nil { self.facts.insert(.symbolicLink) }
        if warning != nil { self.facts.insert(.warning) }
        if blob_archive_entry_is_encrypted(entry) != 0 { self.facts.insert(.isEncrypted) }
    }
}

private func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8]? {
    guard let text else { return nil }
    var count = 0
    while text[count] != 0 { count += 1 }
    return Array(UnsafeRawBufferPointer(start: text, count: count))
}

extension ExchangedEntry {
    /// The entry as the payload of a frame: three numbers of 32 bits, six of 64 bits, the last three of which are the
    /// lengths of the texts, and the texts.
    package var encoded: [UInt8] {
        var payload: [UInt8] = []
        for number in [self.facts.rawValue, self.mode, self.linkCount] {
            withUnsafeBytes(of: number) { payload += $0 }
        }
        let texts = [self.name, self.target, self.warning]
        for number in [self.byteCount, self.seconds, self.nanoseconds] + texts.map({ Int64($0.count) }) {
            withUnsafeBytes(of: number) { payload += $0 }
        }
        for text in texts { payload += text }
        return payload
    }

    /// Decodes a payload; nil if it is not an entry.
    package init?(encoded payload: [UInt8]) {
        let (small, large) = (MemoryLayout<UInt32>.size, MemoryLayout<Int64>.size)
        let start = 3 * small + 6 * large
        guard payload.count >= start else { return nil }
        let (first, numbers) = payload.withUnsafeBytes { bytes in
            (
                (0..<3).map { bytes.loadUnaligned(fromByteOffset: $0 * small, as: UInt32.self) },
                (0..<6).map { bytes.loadUnaligned(fromByteOffset: 3 * small + $0 * large, as: Int64.self) }
            )
        }
        (self.facts, self.mode, self.linkCount) = (Facts(rawValue: first[0]), first[1], first[2])
        (self.byteCount, self.seconds, self.nanoseconds) = (numbers[0], numbers[1], numbers[2])
        var rest = payload[start...]
        var texts: [[UInt8]] = []
        for count in numbers[3...] {
            guard (0...Int64(rest.count)).contains(count) else { return nil }
            texts.append(Array(rest.prefix(Int(count))))
            rest = rest.dropFirst(Int(count))
        }
        guard rest.isEmpty else { return nil }
        (self.name, self.target, self.warning) = (texts[0], texts[1], texts[2])
    }
}

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
/// | `data` | a: offset in the member; b: offset in the shared memory; c: number of bytes |
/// | `end` | a: after `block`, length of the member; after `next`, offset of the data after the archive |
///
/// The output consists of bytes of members. Bytes that libarchive returns verbatim from the archive stay in the input,
/// and are not copied to the output.
extension ExchangeFrame.Kind {
    package static let next = Self(rawValue: 2)
    package static let block = Self(rawValue: 3)
    package static let entry = Self(rawValue: 17)
    package static let data = Self(rawValue: 18)
    package static let end = Self(rawValue: 19)
}
