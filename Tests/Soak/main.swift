// Reads mixed blobs in mixed ways and with faults, uploads some, checks every byte, and measures itself: soak FOLDER
//
// The folder is one that Tests/SystemCallFaults/fixtures.py made. Its files are read, and served to web sources by this
// process, whose measures count both sides. SOAK_SECONDS is the length, 60 by default; SOAK_SEED repeats the jobs of a
// run; SOAK_LOCATORS names more sources of the bytes of `big`, separated by blanks, such as http://127.0.0.1:8000/big.
// Fails on wrong bytes, wrong ends, wrong errors, and growth after a third of the time.
import BlobStreamsStandard
import BlobTestSupport
import Foundation

guard CommandLine.arguments.count == 2 else { exit(64) }
let folder = CommandLine.arguments[1]
let seconds = Double(environmentNumber("SOAK_SECONDS") ?? 60)
let seed: UInt64 = environmentNumber("SOAK_SEED") ?? .random(in: 0 ... .max)
say("seed \(seed), \(Int(seconds)) s")

let scratch = try TemporaryFolder()
let files = try KnownBlob.all(in: folder, indexes: scratch.path("indexes"))
let blobs = try files + KnownBlob.web(files, in: folder, seed: seed) + KnownBlob.more(folder)
let uploads = try Uploads(productsFolder)
let tally = Locked(Tally())
let number = Locked(UInt64(0))

/// Prints a line at once.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

/// Runs jobs on several threads for a while.
func run(for duration: Double) async throws {
    let end = ContinuousClock.now + .seconds(duration)
    try await onThreads(8) { thread in
        while ContinuousClock.now < end {
            let next = number.withLock { number in
                number += 1
                return number
            }
            Job(seed: seed &+ next).run(blobs, scratch: scratch.path("\(thread)"), tally)
            guard thread == 0, let uploads, next % 4 == 0 else { continue }
            var random = SplitMix64(seed: seed &+ next)
            let blob = blobs[Int.random(in: 0..<2, using: &random)]
            try uploads.run(blob, in: folder, using: &random, tally)
        }
    }
}

try await onThreads(blobs.count) { try blobs[$0].fillCache() }
let interval = min(max(seconds / 12, 2), 60)
let start = ContinuousClock.now
var measures: [Measures] = []
var toldCount = 0
while ContinuousClock.now - start < .seconds(seconds) || measures.count < 3 {
    try await run(for: interval)
    let now = Measures()
    measures.append(now)
    let counts = tally.withLock { $0 }
    say(
        "\((ContinuousClock.now - start).components.seconds) s: \(now.text), \(counts.jobCount) jobs, "
            + "\(counts.byteCount >> 20) MiB, \(counts.wrong.count) wrong")
    for text in counts.wrong.dropFirst(toldCount) { say("WRONG: \(text)") }
    toldCount = counts.wrong.count
}
let length = Double((ContinuousClock.now - start).components.seconds)
let growth = Growth(measures, interval: length / Double(measures.count))
if let uploads {
    say("receiver: \(residentByteCount(ofProcess: uploads.receiverNumber) >> 10) KiB")
    do { try uploads.finish() } catch { tally.withLock { $0.wrong.append("\(error)") } }
}
let result = tally.withLock { $0 }
say("\(result.jobCount) jobs, \(result.faultyJobCount) of them with faults: \(result.endCount) right ends")
say("\(result.byteCount) bytes checked")
say("errors: \(result.errorText)")
say(
    "growth an hour: \(Int(growth.allocatedSlope) >> 10) KiB in use, \(Int(growth.residentSlope) >> 10) KiB resident")
for text in result.wrong.dropFirst(toldCount) + growth.faults { say("WRONG: \(text)") }
exit(result.wrong.isEmpty && growth.faults.isEmpty ? 0 : 1)
