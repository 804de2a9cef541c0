#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import AssetLibrarySource

/// Damaged pictures, which the helper decodes. `BLOBSTREAMS_MUTATIONS` is their number, `BLOBSTREAMS_SEED` their seed.
@Suite(.serialized) struct MutationTests {
    private static let memoryByteCount = 256 << 20

    private static let pictures: [[UInt8]] = {
        let fixtures = ["facts.jpg", "facts.heic"].map { (try? libraryFixture($0)) ?? [] }
        return fixtures + [Pictures.picture] + Pictures.all.map(\.bytes)
    }()

    /// Returns a picture with up to 16 other bytes, or a part of one.
    private static func mutant(_ random: inout SplitMix64) -> [UInt8] {
        var bytes = self.pictures[Int(random.next() % UInt64(self.pictures.count))]
        if random.next() % 8 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
        for _ in 0...(random.next() % 16) where !bytes.isEmpty {
            // Headers are where damage leads far.
            let reach = random.next() % 2 == 0 ? min(bytes.count, 512) : bytes.count
            bytes[Int(random.next() % UInt64(reach))] = UInt8(truncatingIfNeeded: random.next())
        }
        return bytes
    }

    @Test(
        .enabled(if: isLinux && FactTests.hasLibrary && MediaProcessTests.hasVips),
        arguments: ["facts", "pictures", "smallJPEGs"])
    func everyOutcomeIsTyped(task: String) async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) { [task] in
            let seed: UInt64 = environmentNumber("BLOBSTREAMS_SEED") ?? UInt64.random(in: 1 ... .max)
            var random = SplitMix64(seed: seed)
            let folder = try TemporaryFolder()
            let path = folder.path("mutant")
            var process: MediaProcess?
            var (failures, crashes, peak) = (0, 0, 0)
            for number in 0..<(environmentNumber("BLOBSTREAMS_MUTATIONS") ?? 200) {
                let bytes = Self.mutant(&random)
                try folder.write(bytes, to: "mutant")
                let file = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                let running =
                    try process
                    ?? MediaProcess(
                        for: MediaTask(rawValue: task) ?? .facts, memoryByteCount: Self.memoryByteCount, BlobContext())
                process = running
                do throws(BlobError) {
                    if task == "facts" {
                        _ = try running.facts(of: file, byteCount: Int64(bytes.count))
                    } else {
                        _ = try running.thumbnail(of: file, size: 256)
                    }
                } catch {
                    try #require(
                        [.corrupted, .truncated, .limitExceeded].contains(error.code),
                        "seed \(seed), \(number): \(error)")
                    failures += 1
                }
                if number % 100 == 0 { peak = max(peak, try Self.peakByteCount() ?? 0) }
                guard running.failure != nil else { continue }
                crashes += 1
                process = nil
                // Kept to be looked at.
                if let kept = ProcessInfo.processInfo.environment["BLOBSTREAMS_CRASHES"] {
                    try BlobTestSupport.write(bytes, to: "\(kept)/\(task)-\(seed)-\(number)")
                }
            }
            print(
                "MutationTests \(task): seed \(seed), \(failures) errors, \(crashes) crashes, at most \(peak >> 20) MiB"
            )
            try #require(peak <= Self.memoryByteCount)
        }
        printOutput(of: result)
    }

    /// The greatest memory of the helper, in bytes.
    private static func peakByteCount() throws -> Int? {
        for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
            let children = try String(contentsOfFile: "/proc/self/task/\(task)/children", encoding: .utf8)
            for child in children.split(separator: " ") {
                let status = try String(contentsOfFile: "/proc/\(child)/status", encoding: .utf8)
                let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
                return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
            }
        }
        return nil
    }
}
#endif
