// Compares the speed of parts of BlobStreams with their peers, and prints the resources that they use. Runs all
// measurements, or only measurements whose title contains the argument. Each line shows the median of the rounds and
// their range. With `--once TITLE NAME`, runs one round of one subject and prints nothing, for
// Benchmarks/regressions.py.

import Foundation

let roundCount = 9
/// Reports that run before all other measurements, while the process has no threads except the measured ones.
let firstReports: [Report] = [.idleStreams]
let comparisons: [Comparison] = [
    .deliveries, .unobservedUpdates, .reading, .smallReading, .runLoopReading, .boundPair, .observedReading,
    .observedOpening,
]
let reports: [Report] = [.stalledSources, .eventLatency]

// Locks are cheaper in a process that never had a second thread, unlike the programs that these measurements represent.
Thread {}.start()

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "--once" {
    let names = Array(arguments.dropFirst())
    guard names.count == 2, let comparison = comparisons.first(where: { $0.title == names[0] }),
        let subject = comparison.subjects.first(where: { $0.name == names[1] })
    else { exit(64) }
    try subject.round(comparison.count)
    exit(0)
}

let wanted = arguments.first
func isWanted(_ title: String) -> Bool { wanted.map(title.localizedCaseInsensitiveContains) ?? true }

func printLine(_ name: String, _ columns: [String]) {
    let columns = columns.map { String(repeating: " ", count: max(1, 9 - $0.count)) + $0 }
    print("  " + name.padding(toLength: 56, withPad: " ", startingAt: 0) + columns.joined())
}

func run(_ reports: [Report]) throws {
    for report in reports where isWanted(report.title) {
        print(report.title)
        for line in try report.lines() { printLine(line.name, line.columns) }
        print()
        fflush(nil)
    }
}

try run(firstReports)
for comparison in comparisons where isWanted(comparison.title) {
    print(
        "\(comparison.title): thousands of \(comparison.unit) a second, median of \(roundCount), least, most;",
        "time over that of \(comparison.peer.name), median, least, most")
    for result in try comparison.results(rounds: roundCount) {
        let rates = [result.rates.median, result.rates[0], result.rates[roundCount - 1]]
        let ratios = [result.timeRatios.median, result.timeRatios[0], result.timeRatios[roundCount - 1]]
        printLine(result.name, rates.map { String(Int($0 / 1000)) } + ratios.map { String(format: "%.2f", $0) })
    }
    print()
    fflush(nil)
}
try run(reports)
FileToRead.remove()
