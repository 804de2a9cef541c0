/// The name of the current member, in memory that serves all members.
final class TarMemberName {
    /// The name in the member's own header, unless an extension has another.
    private let buffer: UnsafeMutableRawBufferPointer = .allocate(byteCount: 155 + 1 + 100, alignment: 1)
    private var count = 0
    private var longName: [UInt8]?

    deinit { self.buffer.deallocate() }

    private var shortName: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.buffer[..<self.count]) }

    var bytes: [UInt8] { self.longName ?? Array(self.shortName) }
    var last: UInt8? { self.longName.map(\.last) ?? self.shortName.last }

    func isEqual(to name: [UInt8]) -> Bool {
        if let longName { return longName == name }
        guard self.count == name.count else { return false }
        return name.withUnsafeBytes { $0.isEqual(to: self.shortName) }
    }

    func set(_ header: TarHeader, _ dialect: TarHeader.Dialect, longName: [UInt8]?) {
        self.longName = longName
        guard longName == nil else { return }
        self.count = 0
        if dialect == .ustar, header.block[345] != 0 {
            let prefix = header.prefix
            self.append(prefix)
            if prefix.last != UInt8(ascii: "/") {
                self.buffer[self.count] = UInt8(ascii: "/")
                self.count += 1
            }
        }
        self.append(header.name)
    }

    private func append(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.count...]).copyMemory(from: bytes)
        self.count += bytes.count
    }
}
