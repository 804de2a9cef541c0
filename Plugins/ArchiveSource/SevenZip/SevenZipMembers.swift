import BlobCore
import BlobPlatform

/// The members of a 7z from its header, without their bytes.
///
/// Each member needs about 30 bytes and its name, and 12 more bytes after the first look-up of a name.
///
/// Names, kinds and permissions are the same as from libarchive.
struct SevenZipMembers {

    private static let slash: [UInt8] = [UInt8(ascii: "/"), 0]
    /// 1970 in Windows time: units of 100 nanoseconds since 1601.
    private static let epoch: UInt64 = 116_444_736_000_000_000

    /// The names in little-endian UTF-16, each followed by a zero unit.
    private let names: [UInt8]
    /// The offsets of the names, followed by the end of the last name.
    private let nameOffsets: [Int32]
    private var modes: [UInt32]
    private let times: [UInt64?]
    private let chains = Locked<NameChains?>(nil)
    /// True if libarchive returns the same names, because no name has characters that libarchive combines with each
    /// other.
    let hasPlainNames: Bool

    var count: Int { self.modes.count }

    /// - Parameters:
    ///   - names: The names, each followed by a zero unit.
    ///   - attributes: The Windows attributes, with the mode from other systems in the high 16 bits.
    ///   - hasBytes: True for each member with bytes; nil if all members have bytes.
    ///   - areEmptyFiles: True for each member without bytes that is a file; nil if no such member is a file.
    /// - Returns: Nil if the number of names differs from the number of members, or the names are not UTF-16.
    init?(
        names: [UInt8], attributes: [UInt32], times: [UInt64?], hasBytes: [Bool]?, areEmptyFiles: [Bool]?
    ) {
        var offsets: [Int32] = [0]
        offsets.reserveCapacity(attributes.count + 1)
        // libarchive rejects empty names.
        guard names.count >= 4 * attributes.count, names.count <= Int(Int32.max) else { return nil }
        names.withUnsafeBytes { names in
            for offset in stride(from: 0, to: names.count - 1, by: 2) where names.number16(at: offset) == 0 {
                offsets.append(Int32(offset + 2))
            }
        }
        guard offsets.count == attributes.count + 1, Int(offsets[attributes.count]) == names.count,
            let isPlain = Self.arePlain(names)
        else { return nil }
        (self.names, self.nameOffsets, self.hasPlainNames, self.times) = (names, offsets, isPlain, times)
        self.modes = []
        self.modes.reserveCapacity(attributes.count)
        var emptyCount = 0
        for (index, attributes) in attributes.enumerated() {
            var mode = attributes >> 16
            if hasBytes?[index] ?? true {
                if mode == 0 { mode = BlobMember.Kind.regular | 0o666 }
            } else {
                let isFile = areEmptyFiles?[emptyCount] ?? false
                emptyCount += 1
                if mode == 0 {
                    mode = isFile ? BlobMember.Kind.regular | 0o666 : BlobMember.Kind.directoryType | 0o777
                } else if !isFile {
                    mode = mode & ~BlobMember.Kind.typeMask | BlobMember.Kind.directoryType
                }
            }
            // FILE_ATTRIBUTE_READONLY.
            self.modes.append(attributes & 1 == 0 ? mode : mode & ~0o222)
        }
    }

    /// Returns true if no character may combine with another; nil if the names are not UTF-16.
    private static func arePlain(_ names: [UInt8]) -> Bool? {
        names.withUnsafeBytes { names in
            // Most names have only Latin letters, and comparing units is faster than decoding them.
            let units = stride(from: 0, to: names.count - 1, by: 2).lazy.map { names.number16(at: $0) }
            if units.allSatisfy({ $0 < 0x300 }) { return true }
            var (iterator, parser) = (units.makeIterator(), Unicode.UTF16.ForwardParser())
            var isPlain = true
            while true {
                switch parser.parseScalar(from: &iterator) {
                case .valid(let units):
                    let scalar = Unicode.UTF16.decode(units)
                    isPlain =
                        isPlain && !scalar.properties.generalCategory.isMark
                        && !(0x1100..<0x1200).contains(scalar.value)
                case .error: return nil
                case .emptyInput: return isPlain
                }
            }
        }
    }

    private func rawName(_ index: Int) -> Range<Int> {
        Int(self.nameOffsets[index])..<(Int(self.nameOffsets[index + 1]) - 2)
    }

    /// True if any member is a symbolic link.
    var containLinks: Bool { self.modes.contains { BlobMember.Kind(mode: $0) == .symbolicLink } }

    private func isDirectory(_ index: Int) -> Bool { BlobMember.Kind(mode: self.modes[index]) == .directory }

    /// Returns the indices of the members with a name, in ascending order.
    ///
    /// - Complexity: O(members) the first time, then O(members with the name).
    func indices(named name: [UInt8]) -> [Int] {
        guard let text = String(validating: name, as: UTF8.self) else { return [] }
        let units = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        // The slash at the end of a folder's name is often not stored.
        guard units.count > 2, units.suffix(2) == Self.slash[...] else {
            return self.indices(stored: units[...]).filter { !self.isDirectory($0) }
        }
        let bare = self.indices(stored: units.dropLast(2)).filter(self.isDirectory)
        return (self.indices(stored: units[...]) + bare).sorted()
    }

    /// Returns the indices of the members whose names are stored in these bytes, in ascending order.
    private func indices(stored name: ArraySlice<UInt8>) -> [Int] {
        self.names.withUnsafeBytes { names in
            let own = { UnsafeRawBufferPointer(rebasing: names[self.rawName($0)]) }
            let chains = self.chains.withLock { chains in
                let known = chains ?? NameChains(count: self.count, name: own)
                chains = known
                return known
            }
            return name.withUnsafeBytes { name in chains.candidates(name).filter { own($0).isEqual(to: name) } }
        }
    }

    /// Returns the member at an index, without the target of a link.
    ///
    /// - Parameters:
    ///   - byteCount: The length of the member's bytes.
    ///   - isEncrypted: True if the member's bytes are encrypted.
    func member(_ index: Int, byteCount: Int64, isEncrypted: Bool) -> BlobMember {
        let range = self.rawName(index)
        var name = self.names.withUnsafeBytes { names in
            var name: [UInt8] = []
            let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).lazy.map { names.number16(at: $0) }
            // Faster than a string of the units. The names are known to be UTF-16.
            _ = transcode(units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: false) {
                name.append($0)
            }
            return name
        }
        if self.isDirectory(index), !name.isEmpty, name.last != Self.slash[0] { name.append(Self.slash[0]) }
        let kind: BlobMember.Kind =
            switch BlobMember.Kind(mode: self.modes[index]) {
            // libarchive treats a link without a target as a file.
            case .symbolicLink where byteCount == 0: .file
            case let kind: kind
            }
        let time = self.times[index].flatMap { time in
            let units = time < Self.epoch ? 0 : time - Self.epoch
            return Date(seconds: Int64(units / 10_000_000), nanoseconds: Int64(units % 10_000_000) * 100)
        }
        return BlobMember(
            index: index, name: name, kind: kind,
            specialKind: kind == .special ? BlobMember.SpecialKind(mode: UInt32(self.modes[index])) : nil,
            byteCount: kind == .file ? byteCount : nil, modificationTime: time,
            permissions: UInt16(self.modes[index] & 0o7777), isEncrypted: isEncrypted)
    }
}

/// A hash table of names.
private struct NameChains {
    /// The first name in each hash bucket, and the next name after each name; -1 for none.
    private var (first, next): ([Int32], [Int32])

    /// - Parameters:
    ///   - count: The number of names, at most `Int32.max`.
    ///   - name: Returns the name with the given number.
    init(count: Int, name: (Int) -> UnsafeRawBufferPointer) {
        let bucketCount = 1 << (Int.bitWidth - max(count, 1).leadingZeroBitCount)
        self.first = Array(repeating: -1, count: bucketCount)
        self.next = Array(repeating: -1, count: count)
        for number in (0..<count).reversed() {
            let bucket = self.bucket(of: name(number))
            self.next[number] = self.first[bucket]
            self.first[bucket] = Int32(number)
        }
    }

    private func bucket(of name: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return hasher.finalize() & (self.first.count - 1)
    }

    /// Returns the numbers of the names that may equal this name, in ascending order.
    func candidates(_ name: UnsafeRawBufferPointer) -> [Int] {
        sequence(first: Int(self.first[self.bucket(of: name)])) { Int(self.next[$0]) }.prefix { $0 >= 0 }
    }
}

extension Unicode.GeneralCategory {
    fileprivate var isMark: Bool { [.nonspacingMark, .spacingMark, .enclosingMark].contains(self) }
}
