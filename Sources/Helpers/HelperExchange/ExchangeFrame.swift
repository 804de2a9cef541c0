internal import CHelper

/// A message between a process and its helper, a program that runs code for it that may crash or loop.
///
/// Both run on one machine with one version of this package: numbers have the byte order of the processor, and
/// ``version`` checks that the versions match. A frame is 32 bytes: kind, number of bytes of the payload (32 bits
/// each), and three numbers `a`, `b`, `c` (64 bits each). The payload follows.
///
/// The process sends a command, and the helper answers it with one frame. Each helper has its own commands and answers;
/// all helpers have these:
///
/// | command | numbers | answers |
/// |---|---|---|
/// | `greet` | | `ready` |
/// | `open` | a: ``version`` | `opened` |
///
/// | answer | numbers |
/// |---|---|
/// | `ready` | a: ``version`` of the helper; b: its ``HelperConfinement``, before it reads any input |
/// | `opened` | a: ``version`` of the helper |
/// | `error` | a: ``Failure``; payload: text of the library |
///
/// Before it answers, the helper may request bytes of its input any number of times:
///
/// | question | numbers |
/// |---|---|
/// | `need` | a: offset in the input; b: the maximum number of bytes wanted |
///
/// | answer to a question | numbers |
/// |---|---|
/// | `bytes` | a: number of bytes from the beginning of the shared memory; 0 at the end of the input |
/// | `failed` | the input cannot be read; the helper answers the command with an error |
///
/// Bytes never pass through the socket. The shared memory has ``ExchangeMemory/inputByteCount`` bytes for the input,
/// followed by ``ExchangeMemory/outputByteCount`` bytes for the output. Each side writes only on request, and checks
/// all numbers from the other side.
package struct ExchangeFrame {
    /// The kind of a frame; each helper adds its own.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let open = Self(rawValue: 1)
        package static let bytes = Self(rawValue: 4)
        package static let failed = Self(rawValue: 5)
        package static let greet = Self(rawValue: 6)
        package static let opened = Self(rawValue: 16)
        package static let error = Self(rawValue: 20)
        package static let need = Self(rawValue: 21)
        package static let ready = Self(rawValue: 22)
    }

    /// The reason for an error of the helper.
    package enum Failure: Int64 {
        /// An error of the library, with its message as text; an empty text means missing bytes.
        case library = 1
        /// The library cannot be loaded, or was built without the format.
        case unavailable
        /// The memory of the helper is exhausted, or a header is too long.
        case limit
        /// The input ends too early; the text has details.
        case truncated
    }

    /// The version of the protocol.
    package static let version: Int64 = 2
    /// The length of a frame without its payload, in bytes.
    package static let byteCount = 32
    /// The maximum length of a payload, in bytes: enough for names and for a message of a library.
    package static let maximumPayloadByteCount = 256 * 1024

    package var kind: Kind
    package var a: Int64 = 0
    package var b: Int64 = 0
    package var c: Int64 = 0
    package var payload: [UInt8] = []

    package init(_ kind: Kind, a: Int64 = 0, b: Int64 = 0, c: Int64 = 0, payload: [UInt8] = []) {
        (self.kind, self.a, self.b, self.c, self.payload) = (kind, a, b, c, payload)
    }

    /// Reads a frame without its payload; nil if the length of its payload is not allowed.
    init?(_ bytes: UnsafeRawBufferPointer, payloadByteCount: inout Int) {
        guard bytes.count >= Self.byteCount else { return nil }
        payloadByteCount = Int(bytes.load(fromByteOffset: 4, as: UInt32.self))
        guard payloadByteCount <= Self.maximumPayloadByteCount else { return nil }
        self.kind = Kind(rawValue: bytes.load(as: UInt32.self))
        self.a = bytes.load(fromByteOffset: 8, as: Int64.self)
        self.b = bytes.load(fromByteOffset: 16, as: Int64.self)
        self.c = bytes.load(fromByteOffset: 24, as: Int64.self)
    }

    /// Writes a frame and its payload to a buffer that is large enough; returns the number of bytes.
    func write(to bytes: UnsafeMutableRawBufferPointer) -> Int {
        bytes.storeBytes(of: self.kind.rawValue, as: UInt32.self)
        bytes.storeBytes(of: UInt32(self.payload.count), toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: self.a, toByteOffset: 8, as: Int64.self)
        bytes.storeBytes(of: self.b, toByteOffset: 16, as: Int64.self)
        bytes.storeBytes(of: self.c, toByteOffset: 24, as: Int64.self)
        UnsafeMutableRawBufferPointer(rebasing: bytes[Self.byteCount...]).copyBytes(from: self.payload)
        return Self.byteCount + self.payload.count
    }
}

/// The parts of the confinement that the system granted to a helper.
package struct HelperConfinement: OptionSet, Hashable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// A limit on its memory.
    package static let memory = Self(blob_confines_memory)
    /// Limits on the number and the size of its files.
    package static let files = Self(blob_confines_files)
    /// A filter of its system calls, so that it opens neither files nor connections.
    package static let systemCalls = Self(blob_confines_calls)

    package static let all: Self = [.memory, .files, .systemCalls]

    private init(_ part: blob_confinement) { self.init(rawValue: Int64(part.rawValue)) }

    /// Confines this process as far as the system grants it.
    ///
    /// - Parameters:
    ///   - byteCount: The memory for decoding beyond the memory that the process already uses, in bytes.
    ///   - hasFiles: True for a helper to which open files are sent.
    package static func begin(memoryByteCount byteCount: Int, hasFiles: Bool) -> Self {
        Self(rawValue: Int64(blob_confine(byteCount, hasFiles ? blob_needs_files : blob_needs_nothing)))
    }

    /// The answer to the command `greet`.
    package var frame: ExchangeFrame { ExchangeFrame(.ready, a: ExchangeFrame.version, b: self.rawValue) }

    /// The missing parts, as text for a message; nil if all parts are granted.
    package var missingConfinement: String? {
        let parts: [(Self, String)] = [
            (.memory, "memory limit"), (.files, "file limits"), (.systemCalls, "system call filter"),
        ]
        let missing = parts.filter { !self.contains($0.0) }.map(\.1)
        return missing.isEmpty ? nil : "no " + missing.joined(separator: ", no ")
    }
}

/// A command that failed in a helper.
package struct HelperFailure: Error {
    private let kind: ExchangeFrame.Failure
    private let text: String

    package init(_ kind: ExchangeFrame.Failure, _ text: String) { (self.kind, self.text) = (kind, text) }

    package static let limit = Self(.limit, "the memory is exhausted")

    /// The answer, with at most 1000 bytes of the text.
    package var frame: ExchangeFrame {
        ExchangeFrame(.error, a: self.kind.rawValue, payload: Array(self.text.utf8.prefix(1000)))
    }
}
