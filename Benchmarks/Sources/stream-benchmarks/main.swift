// Prints how fast the parts of BlobStreams are beside their peers: all comparisons, or those with a title that contains
// the argument. Each line is the median of the rounds, and their range.

import Foundation

let roundCount = 9
let comparisons: [Comparison] = [
    .deliveries, .unobservedUpdates, .reading(bufferByteCount: 64 << 10), .reading(bufferByteCount: 1 << 10),
]

// A process that never had a second thread has cheaper locks than the programs that this is about.
Thread {}.start()

func padded(_ text: String, to count: Int) -> String { text.padding(toLength: count, withPad: " ", startingAt: 0) }

func thousands(_ rate: Double) -> String {
    let text = String(Int(rate / 1000))
    return String(repeating: " ", count: max(0, 9 - text.count)) + text
}

let wanted = CommandLine.arguments.dropFirst().first
for comparison in comparisons where wanted.map(comparison.title.localizedCaseInsensitiveContains) ?? true {
    print("\(comparison.title): thousands of \(comparison.unit) a second, median of \(roundCount), least, most")
    for (subject, rates) in zip(comparison.subjects, try comparison.rates(rounds: roundCount)) {
        let columns = [rates[rates.count / 2], rates[0], rates[rates.count - 1]].map(thousands)
        print("  " + padded(subject.name, to: 56) + columns.joined())
    }
    print()
}

let latencyTitle = "From bytes on one thread to the delegate on a sleeping run loop"
if wanted.map(latencyTitle.localizedCaseInsensitiveContains) ?? true {
    print("\(latencyTitle): microseconds, median, 99th percentile of 3000")
    for (subject, latencies) in [
        ("BlobInputStream over a pipe", EventLatency.measure(eventCount: 3000)),
        ("a semaphore between two bare threads", EventLatency.measureBareThreads(eventCount: 3000)),
    ] {
        let columns = [50, 99].map { latencies[latencies.count * $0 / 100] / .microseconds(1) }
        print("  " + padded(subject, to: 56) + columns.map { padded(String(format: "%.1f", $0), to: 9) }.joined())
    }
}
try? FileManager.default.removeItem(at: fileToRead)
