import BlobStreamsStandard
import BlobTestSupport
import Foundation

/// Uploads to a receiver, some of which are killed on the way: what the receiver reports as complete must be.
final class Uploads: Sendable {
    private let blob: String
    private let receiver: UnsafeTransfer<Process>
    /// The URL of the receiver, which ends with a slash.
    private let url: String
    private let received = Recorder<String>()
    private let count = Locked(0)

    /// Starts the receiver; nil when the commands are not there, or cannot upload.
    init?(_ programs: URL) throws {
        let receive = programs.appendingPathComponent("blob-receive")
        self.blob = programs.appendingPathComponent("blob").path
        guard FileManager.default.isExecutableFile(atPath: receive.path),
            try FinishedProcess(self.blob, ["upload", "--help"]).status == 0
        else { return nil }
        let (process, output, received) = (Process(), Pipe(), self.received)
        process.executableURL = receive
        process.standardOutput = output
        try process.run()
        self.receiver = UnsafeTransfer(process)
        let end = UnsafeTransfer(output.fileHandleForReading)
        Thread.detachNewThread {
            var rest = Data()
            while case let more = end.value.availableData, !more.isEmpty {
                rest += more
                while let line = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    received.append(String(decoding: rest[..<line], as: UTF8.self))
                    rest = Data(rest[(line + 1)...])
                }
            }
        }
        self.url = received.waitForValues(count: 1)[0]
    }

    /// The process of the receiver.
    var receiverNumber: Int32 { self.receiver.value.processIdentifier }

    /// Uploads a plain file, and adds the outcome to the tally.
    func run(_ blob: KnownBlob, in folder: String, using random: inout SplitMix64, _ tally: Locked<Tally>) throws {
        let digest = blob.digest.map { String(format: "%02x", $0) }.joined()
        let path = "\(folder)/\(blob.name)"
        let number = self.count.withLock { count in
            count += 1
            return count
        }
        let isKilled = Bool.random(using: &random)
        let patience = Double.random(in: 0.01...0.3, using: &random)
        let upload = [self.blob, "upload", path, "\(self.url)\(digest)-\(number)", "--index", "none"]
        let outcome = try FinishedProcess(
            isKilled ? "timeout" : self.blob,
            isKilled ? ["-s", "KILL", "\(patience)"] + upload + ["--limit-rate", "2M"] : Array(upload.dropFirst()))
        let isRight = outcome.status == 0 && outcome.outputText.contains(digest)
        tally.withLock { tally in
            tally.jobCount += 1
            tally.faultyJobCount += isKilled ? 1 : 0
            tally.byteCount += isRight ? Int64(blob.bytes.count) : 0
            if isRight { tally.endCount += 1 }
            if isKilled, !isRight { tally.errorCounts["uploads killed", default: 0] += 1 }
            if !isKilled, !isRight { tally.wrong.append("an upload of \(path): \(outcome.errors)") }
        }
    }

    /// Throws when the receiver reported what was not sent; ends it.
    func finish() throws {
        self.receiver.value.terminate()
        self.receiver.value.waitUntilExit()
        for line in self.received.values.dropFirst() {
            // The name in the path begins with the digest of what was sent.
            let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let (name, found) = (fields?["name"] as? String ?? "", fields?["sha256"] as? String ?? "none")
            guard name.hasPrefix(found) else { throw WrongBytes(description: "the receiver reported \(line)") }
        }
    }
}
