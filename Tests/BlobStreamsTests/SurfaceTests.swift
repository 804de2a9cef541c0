import BlobTestSupport
import Foundation
import Testing

/// The promise that a third party can write every source that the built-in plugins are.
@Suite struct SurfaceTests {
    /// The symbols of the core that only this package sees and that its plugins use, with the reasons.
    private static let allowed = [
        "ByteAllowance": "a rate that readers and requests of one process share: others have a throttle",
        "MarkupElement": "a parser of XML", "ParameterizedValue": "a parser of a field's value",
        "RetryFailures": "a count of failures, with the rules that are public",
        "layerChain": "a loop over the bases of layers",
        "AtomicFile": "writing files is the task of their owners",
        "Descriptor": "an owner of a descriptor", "FileStatus": "the fields of stat(2)",
        "FileIdentity": "two fields of stat(2)", "folderEntries": "a loop over readdir(3)",
        "DeliveredBytes": "a copy of the last bytes, to compare with what is read again",
        "Fifo": "a queue, as that of swift-collections",
        "BlockingPool": "work of our own beside the reads shares the pool's bound; others have threads of their own",
        "LateStream": "a stream that gives up an index becomes another body: others decide before the first byte",
        "StartedStream": "what such a stream becomes", "StreamOverReader": "names the base of such a stream in errors",
        "UnsafeTransfer": "a box to move a value between threads, without any state",
        "LocallyDescribedError": "Foundation's errors are described where Foundation is linked",
        "ByteSet": "a set of bytes, as `Set` is",
        "Locked": "a mutex, as the standard library has one on newer systems",
        "OrderedPipeline": "decoders of ours share the bound of the pool; others have threads of their own",
        "PercentEncoding": "a loop over the percent signs of a text",
        "Window": "memory that is filled and drained", "WindowPool": "memory that is reused",
        "UnlinkedFile": "a temporary file",
        "WaitSignal": "a semaphore",
        "SingleOpening": "a flag under a lock",
        "retryingOnInterrupt": "a loop over a system call", "createFolder": "a loop over mkdir(2)",
        "writeAll": "a loop over write(2)", "writeFailure": "an error from errno",
    ]

    /// `ZipArchive` computes what it keeps in an index, as the plugins do.
    @Test(arguments: try plugins().map { "Plugins/\($0)" } + ["Examples/ZipArchive"])
    func aPluginUsesNoHiddenTypeOfTheCoreWithoutAReason(_ plugin: String) throws {
        let hidden = try Self.hiddenNames()
        #expect(hidden.count > 20 && hidden.contains("Locked"))
        let words = try Self.code(below: plugin).matches(of: /\w+/).map { String($0.output) }
        #expect(Set(words).intersection(hidden).subtracting(Self.allowed.keys).isEmpty)
    }

    /// The examples are written as third parties write: they use nothing that only this package sees.
    @Test func anExampleUsesNoHiddenTypeOfTheCore() throws {
        let words = try Self.code(below: "Examples", except: "ZipArchive").matches(of: /\w+/).map { String($0.output) }
        #expect(Set(words).intersection(try Self.hiddenNames()).isEmpty)
    }

    /// What differs between systems is in files whose names say so.
    @Test func conditionsOnTheSystemAreInFilesOfTheirOwn() throws {
        // A required initializer cannot be in an extension.
        let exceptions = ["BoundStreamPair.swift"]
        let condition = /(?m)^ *#(?:else)?if.*\b(?:(?:os|arch|targetEnvironment)\(|canImport\((?:Darwin|Glibc|Musl)\))/
        var count = 0
        for folder in ["Sources", "Plugins", "Examples"] {
            for file in Self.files(below: folder)
            where try String(contentsOf: file, encoding: .utf8).contains(condition) {
                count += 1
                let name = file.lastPathComponent
                #expect(name.contains(/(?:Platform|\+Linux|\+Darwin)\.swift$/) || exceptions.contains(name), "\(name)")
            }
        }
        #expect(count > 10)
    }

    private static func plugins() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: projectFolder.appendingPathComponent("Plugins").path)
        #expect(names.count >= 7)
        return names.sorted()
    }

    /// The types and free functions of the core that are `package`.
    private static func hiddenNames() throws -> Set<String> {
        let declaration = /(?m)^package (?:final |indirect )?(?:class|struct|enum|protocol|func|typealias) (\w+)/
        return Set(try self.code(below: "Sources/BlobCore").matches(of: declaration).map { String($0.output.1) })
    }

    /// The text of all Swift files in a folder, without comments.
    private static func code(below folder: String, except part: String? = nil) throws -> String {
        try self.files(below: folder).filter { !(part.map($0.pathComponents.contains) ?? false) }.map {
            try String(contentsOf: $0, encoding: .utf8).replacing(/\/\/[^\n]*/, with: "")
        }.joined(separator: "\n")
    }

    private static func files(below folder: String) -> [URL] {
        let found = FileManager.default.enumerator(
            at: projectFolder.appendingPathComponent(folder), includingPropertiesForKeys: nil)
        return (found?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
    }
}
