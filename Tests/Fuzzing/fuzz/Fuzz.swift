import CFuzzer
import Foundation
import FuzzChecks

/// Runs one target in libFuzzer, which takes its arguments from the command line: folders of inputs, then options.
///
/// The target is named by `FUZZ_TARGET`: libFuzzer starts itself again with other arguments for some of its modes.
@main struct Fuzz {
    static let target = ProcessInfo.processInfo.environment["FUZZ_TARGET"].flatMap(FuzzTarget.init)

    static func main() {
        guard let target else {
            print("FUZZ_TARGET must be one of: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))")
            exit(64)
        }
        // What comes first is overridden by the command line.
        var arguments = CommandLine.arguments
        arguments.insert("-max_len=\(target.maximumByteCount)", at: 1)
        var pointers = arguments.map { strdup($0) } + [nil]
        exit(
            pointers.withUnsafeMutableBufferPointer { pointers in
                var (count, start) = (CInt(pointers.count - 1), pointers.baseAddress)
                return LLVMFuzzerRunDriver(&count, &start) { data, byteCount in
                    Fuzz.run(Array(UnsafeBufferPointer(start: data, count: byteCount)))
                    return 0
                }
            })
    }

    private static func run(_ bytes: [UInt8]) {
        do {
            try self.target?.check(bytes)
        } catch {
            fatalError("\(error)")
        }
    }
}

/// Called by libFuzzer for each new input.
@_cdecl("LLVMFuzzerCustomMutator")
func mutate(_ data: UnsafeMutablePointer<UInt8>, _ byteCount: Int, _ maximumByteCount: Int, _ seed: CUnsignedInt) -> Int
{
    let byteCount = LLVMFuzzerMutate(data, byteCount, maximumByteCount)
    var bytes = Array(UnsafeBufferPointer(start: data, count: byteCount))
    Fuzz.target?.repair(&bytes, seed: UInt64(seed))
    let kept = bytes.prefix(maximumByteCount)
    _ = UnsafeMutableBufferPointer(start: data, count: maximumByteCount).update(fromContentsOf: kept)
    return kept.count
}
