internal import CHelper

/// The parts of its confinement that the system granted a helper.
package struct HelperConfinement: OptionSet, Hashable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// A limit of its memory.
    package static let memory = Self(blob_confines_memory)
    /// Limits of the number and the size of its files.
    package static let files = Self(blob_confines_files)
    /// A filter of its system calls, so that it opens neither files nor connections.
    package static let systemCalls = Self(blob_confines_calls)

    package static let all: Self = [.memory, .files, .systemCalls]

    private init(_ part: blob_confinement) { self.init(rawValue: Int64(part.rawValue)) }

    /// Confines this process as far as the system grants it.
    ///
    /// - Parameters:
    ///   - byteCount: The memory that decoding may take beyond what the process has, in bytes.
    ///   - hasFiles: True for a helper that is sent open files.
    package static func begin(memoryByteCount byteCount: Int, hasFiles: Bool) -> Self {
        Self(rawValue: Int64(blob_confine(byteCount, hasFiles ? blob_needs_files : blob_needs_nothing)))
    }

    /// The answer to the command `greet`.
    package var frame: ExchangeFrame { ExchangeFrame(.ready, a: ExchangeFrame.version, b: self.rawValue) }

    /// The parts that are missing, for people; nil when there is none.
    package var missing: String? {
        let parts: [(Self, String)] = [
            (.memory, "limit of memory"), (.files, "limit of files"), (.systemCalls, "filter of system calls"),
        ]
        let missing = parts.filter { !self.contains($0.0) }.map(\.1)
        return missing.isEmpty ? nil : "no " + missing.joined(separator: ", no ")
    }
}
