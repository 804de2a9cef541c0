import BlobTestSupport
import Foundation

/// The measures of this process while no job runs, apart from those of connections that are kept for the next jobs.
struct Measures {
    /// The bytes of the heap in use.
    let allocatedByteCount: Int
    /// The resident bytes.
    let residentByteCount: Int
    /// The number of open descriptors without sockets.
    let descriptorCount: Int
    /// The number of sockets: those of idle connections, at both ends and in proxies.
    let socketCount: Int
    /// The number of threads without those of the servers in this process.
    let threadCount: Int

    /// Waits until the threads and descriptors of finished jobs are gone, and measures; blocks.
    init() {
        let settled = SettledMeasures()
        self.socketCount = (0..<CInt(1 << 12)).count { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        }
        self.descriptorCount = settled.descriptorCount - self.socketCount
        self.threadCount = settled.threadCount - Self.serverThreadCount
        (self.allocatedByteCount, self.residentByteCount) = (settled.allocatedByteCount, settled.residentByteCount)
    }

    /// The measures as a part of a line.
    var text: String {
        "\(self.allocatedByteCount >> 10) KiB allocated, \(self.residentByteCount >> 10) KiB resident, "
            + "\(self.descriptorCount) descriptors, \(self.socketCount) sockets, \(self.threadCount) threads"
    }
}
