#if Photos
// Imports a file into a library and kills itself at a step, if it is one: LIBRARY FILE STEP. Or makes a library,
// imports as many made-up files, removes some, and says each time what it did in the log of its system calls: LIBRARY
// COUNT record. Or imports a made-up file at each line of its input, COUNT times, and prints the identifier of the
// asset and the time after the commit, in nanoseconds since 1970: LIBRARY COUNT timed.
import AssetLibrarySource
import BlobStreams
import CSystemCallLog
import FileSource
import Foundation

func importFile(_ path: String, into folder: URL, killedAt step: ImportStep?) throws {
    let library = try AssetLibrary(at: folder, for: .writing) { reached in
        if reached == step { kill(getpid(), SIGKILL) }
    }
    _ = try library.importAsset(from: FileSource(path: path))
}

func record(_ count: Int, in folder: URL) throws {
    let library = try AssetLibrary.create(at: folder)
    system_call_log_mark("created")
    var importedCount = 0
    let assets = try library.makeImport { result in
        let id = result.asset.id.uuidString
        system_call_log_mark("imported \(id) \(importedCount)")
        importedCount += 1
        guard importedCount % 10 == 0 else { return }
        system_call_log_mark("removing \(id)")
        try library.removeAsset(result.asset.id)
        system_call_log_mark("removed \(id)")
    }
    for number in 0..<count {
        let bytes = String(repeating: "photo \(number)\n", count: 1 + number % 100 * 10)
        try assets.add(MemorySource(Data(bytes.utf8)), name: "\(number).txt")
    }
    try assets.finish()
}

func importTimed(_ count: Int, into folder: URL) throws {
    let library = try AssetLibrary(at: folder, for: .writing)
    for number in 0..<count where readLine() != nil {
        let bytes = Data("\(number) of \(UUID())".utf8)
        let asset = try library.importAsset(from: MemorySource(bytes)).asset
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        print(asset.id.uuidString, Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        fflush(nil)
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 4 else { exit(64) }
let folder = URL(fileURLWithPath: arguments[1])
if arguments[3] == "record", let count = Int(arguments[2]) {
    try record(count, in: folder)
} else if arguments[3] == "timed", let count = Int(arguments[2]) {
    try importTimed(count, into: folder)
} else {
    try importFile(arguments[2], into: folder, killedAt: ImportStep(rawValue: arguments[3]))
}
#endif
