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

    /// The number of entries that a process requests at once at most.
    package static let maximumCount = 1024

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
    /// The length of the numbers of an encoded entry, in bytes.
    private static let numbersByteCount = 3 * MemoryLayout<UInt32>.size + 6 * MemoryLayout<Int64>.size

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

    /// Decodes a payload of entries, one after the other; nil if it is anything else.
    package static func decode(_ payload: [UInt8]) -> [Self]? {
        payload.withUnsafeBytes { bytes in
            var (entries, start): ([Self], Int) = ([], 0)
            while start < bytes.count {
                guard let entry = Self(bytes, &start) else { return nil }
                entries.append(entry)
            }
            return entries
        }
    }

    /// Decodes the entry at `start`, and moves `start` to its end.
    private init?(_ bytes: UnsafeRawBufferPointer, _ start: inout Int) {
        guard bytes.count - start >= Self.numbersByteCount else { return nil }
        func number<Number: FixedWidthInteger>(_: Number.Type) -> Number {
            defer { start += MemoryLayout<Number>.size }
            return bytes.loadUnaligned(fromByteOffset: start, as: Number.self)
        }
        (self.facts, self.mode, self.linkCount) = (
            Facts(rawValue: number(UInt32.self)), number(UInt32.self), number(UInt32.self)
        )
        (self.byteCount, self.seconds, self.nanoseconds) = (
            number(Int64.self), number(Int64.self), number(Int64.self)
        )
        let counts = (number(Int64.self), number(Int64.self), number(Int64.self))
        func text(_ count: Int64) -> [UInt8]? {
            guard (0...Int64(bytes.count - start)).contains(count) else { return nil }
            defer { start += Int(count) }
            return Array(bytes[start..<(start + Int(count))])
        }
        guard let name = text(counts.0), let target = text(counts.1), let warning = text(counts.2) else { return nil }
        (self.name, self.target, self.warning) = (name, target, warning)
    }
}

/// The frames of `blob-archive-helper`, which runs libarchive.
///
/// | command | numbers | answers |
/// |---|---|---|
/// | `open` | b: 1 with random access; c: length of the archive or -1 | `opened` |
/// | `next` | a: the maximum number of members to advance | `entries`, `end` |
/// | `block` | | `data`, `end` |
///
/// | answer | numbers |
/// |---|---|
/// | `entries` | payload: at least one ``ExchangedEntry`` |
/// | `data` | a: offset in the member; b: offset in the shared memory; c: number of bytes |
/// | `end` | a: after `block`, length of the member; after `next`, offset of the data after the archive |
///
/// The output consists of bytes of members. Bytes that libarchive returns verbatim from the archive stay in the input,
/// and are not copied to the output.
extension ExchangeFrame.Kind {
    package static let next = Self(rawValue: 2)
    package static let block = Self(rawValue: 3)
    package static let entries = Self(rawValue: 17)
    package static let data = Self(rawValue: 18)
    package static let end = Self(rawValue: 19)
}
