import BlobTestSupport
import Foundation
import Testing

/// The Swift of the documentation compiles: the blocks of the articles, of the README and of the doc comments.
@Suite(.timeLimit(.minutes(15))) struct DocumentationTests {
    @Test func everyBlockOfSwiftCompiles() async throws {
        let blocks = try Self.blocks()
        #expect(blocks.count > 10)
        let folder = try TemporaryFolder()
        // A compiler for each processor, as each of its runs is for one file.
        try await withThrowingTaskGroup(of: Void.self) { group in
            var rest = blocks.enumerated().makeIterator()
            func addNext() {
                guard let (number, block) = rest.next() else { return }
                group.addTask {
                    let file = folder.url("Block\(number).swift")
                    try Data(block.program.utf8).write(to: file)
                    let errors = try await onThread { try Self.errors(in: file) }
                    #expect(errors.isEmpty, "\(block.place):\n\(errors)")
                }
            }
            for _ in 0..<2 { addNext() }
            while try await group.next() != nil { addNext() }
        }
    }

    @Test func aBlockThatDoesNotCompileIsFound() async throws {
        let folder = try TemporaryFolder()
        let block = Block(place: "here", text: "let locator: BlobLocator = source.nothing")
        try Data(block.program.utf8).write(to: folder.url("Wrong.swift"))
        let errors = try await onThread { try Self.errors(in: folder.url("Wrong.swift")) }
        #expect(errors.contains("'nothing'"), "\(errors)")
    }

    /// The table of names in the article for beginners: at the top level of a file, the compiler chooses the form that
    /// blocks, with a warning; in a function, it chooses the other one.
    @Test func anAwaitAtTheTopLevelWarnsOfTheFormThatBlocks() async throws {
        let folder = try TemporaryFolder()
        let call = "try await source.data(upTo: 1)"
        for (name, text) in [("Top", "use(\(call))"), ("Function", "func load() async throws { use(\(call)) }")] {
            let file = folder.url("\(name).swift")
            try Data(Block(place: "here", text: text).program.utf8).write(to: file)
            let errors = try await onThread { try Self.errors(in: file, "-warnings-as-errors") }
            #expect(errors.contains("no 'async' operations occur") == (name == "Top"), "\(errors)")
        }
    }

    /// A plugin is short: the lines of code before those that use it, and the types of the framework that they name.
    @Test(arguments: [
        ("WritingADataSource", 12, 9), ("WritingAFilter", 20, 11), ("SequentialOrigins", 25, 12),
        ("EventDrivenOrigins", 30, 13), ("WritingAContainer", 35, 15),
    ])
    func theExampleOfAPluginIsShort(_ article: String, _ lineCount: Int, _ typeCount: Int) throws {
        let text = try Self.text(of: "Sources/BlobCore/BlobCore.docc/\(article).md")
        let block = try #require(text.components(separatedBy: "```swift\n").dropFirst().first)
        let plugin = try #require(block.components(separatedBy: "\n// In use:").first)
        #expect(plugin.count < block.count)
        let lines = plugin.split(separator: "\n").filter { line in
            let code = line.drop { $0 == " " }
            return !code.isEmpty && !code.hasPrefix("//") && !code.hasPrefix("import ")
        }
        #expect(lines.count <= lineCount)
        let types = Set(lines.joined(separator: "\n").matches(of: /\bBlob\w+|\w+Source\b/).map(\.output))
        #expect(types.count <= typeCount, "\(types)")
    }

    /// The promises by their names in the article, none of which may be dropped.
    private static let promises =
        (1...19).map { "L\($0)" } + (1...7).map { "G\($0)" } + (1...17).map { "A\($0)" } + (1...8).map { "F\($0)" }
        + (1...7).map { "S\($0)" } + ["M1", "M2"] + (1...6).map { "U\($0)" } + (1...4).map { "X\($0)" }

    @Test func everyPromiseHasATestThatExists() throws {
        let article = try Self.text(of: "Sources/BlobCore/BlobCore.docc/Reliability.md")
        let rows = article.split(separator: "\n").filter { $0.contains(/^\| [A-Z]+\d+ \|/) }
        for promise in Self.promises { #expect(rows.contains { $0.hasPrefix("| \(promise) |") }, "\(promise)") }
        for row in rows {
            let links = row.matches(of: /\[(\w+)\]\((?:\.\.\/)+(Tests\/[\w\/+]+\.swift)\)/)
            #expect(!links.isEmpty, "\(row)")
            for link in links {
                let test = try Self.text(of: String(link.output.2))
                #expect(test.contains("func \(link.output.1)("), "\(link.output.0)")
            }
        }
    }

    private static func text(of path: String) throws -> String {
        try String(contentsOf: projectFolder.appendingPathComponent(path), encoding: .utf8)
    }

    private struct Block {
        let place: String
        let text: String

        /// The block as a file of its own. Unless it begins with its imports, it may use a few names.
        var program: String {
            let imports = """
                import BlobStreams
                import BlobStreamsStandard
                import BlobStreamsTesting
                import BlobURLSession
                #if canImport(BlobTransfer)
                import BlobTransfer
                import HTTPSource
                import S3Source
                #endif
                import Foundation
                #if canImport(FoundationNetworking)
                import FoundationNetworking
                #endif
                import MultipartFormData

                """
            let text = self.text.replacing("#expect(", with: "precondition(")
            let lines = text.split(separator: "\n")
            if lines.first?.hasPrefix("import ") ?? false { return text }
            if lines.contains(where: { $0.hasPrefix("extension ") }) { return imports + text }
            return imports + """
                func use(_ value: Any...) {}
                let source: any BlobInputStreamDataSource = MemorySource(Data())
                let other: any BlobInputStreamDataSource = MemorySource(Data())
                let registry = BlobRegistry.standard
                let (url, path, digest, data) = (URL(fileURLWithPath: "/"), "/", [UInt8](), Data())
                let context = BlobContext()
                let request = URLRequest(url: url)
                let photo = url
                var form = MultipartForm()
                do {
                \(text)
                }
                """
        }
    }

    private static func blocks() throws -> [Block] {
        var files = [projectFolder.appendingPathComponent("README.md")]
        for folder in [
            "Examples/MultipartFormData", "Sources/BlobCore", "Sources/BlobStreams", "Sources/BlobStreamsTesting",
            "Sources/BlobTransfer", "Sources/BlobURLSession", "Plugins/ArchiveSource", "Plugins/AssetLibrarySource",
            "Plugins/FileSource", "Plugins/GzipSource", "Plugins/HTTPSource", "Plugins/S3Source",
        ] where Self.isBuilt(URL(fileURLWithPath: folder).lastPathComponent) {
            let found = FileManager.default.enumerator(
                at: projectFolder.appendingPathComponent(folder), includingPropertiesForKeys: nil)
            files += (found?.compactMap { $0 as? URL } ?? []).filter { ["md", "swift"].contains($0.pathExtension) }
        }
        return try files.sorted { $0.path < $1.path }.flatMap { file -> [Block] in
            var text = try String(contentsOf: file, encoding: .utf8)
            if file.pathExtension == "swift" {
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                    let line = line.drop { $0 == " " }
                    return line.hasPrefix("/// ") ? line.dropFirst(4) : line.hasPrefix("///") ? line.dropFirst(3) : line
                }
                text = lines.joined(separator: "\n")
            }
            return text.components(separatedBy: "```swift\n").dropFirst().enumerated().compactMap {
                number, part -> Block? in
                guard let block = part.components(separatedBy: "```").first, !block.hasPrefix(".package(") else {
                    return nil
                }
                return Block(place: "\(file.lastPathComponent), block \(number + 1)", text: block)
            }
        }
    }

    /// False for a module that this build leaves out.
    private static func isBuilt(_ module: String) -> Bool {
        let path = productsFolder.appendingPathComponent("Modules/\(module).swiftmodule").path
        return FileManager.default.fileExists(atPath: path)
    }

    /// Returns the errors of the compiler; an empty text when there are none.
    private static func errors(in file: URL, _ options: String...) throws -> String {
        let products = try FileManager.default.contentsOfDirectory(at: productsFolder, includingPropertiesForKeys: nil)
        let maps =
            products.filter { $0.pathExtension == "build" }.map { $0.appendingPathComponent("module.modulemap") }
            + [
                projectFolder.appendingPathComponent("Sources/CLibraries/CZlib/module.modulemap"),
                productsFolder.appendingPathComponent(
                    "../../checkouts/GRDB.swift/Sources/GRDBSQLite/module.modulemap"),
            ]
        let mapArguments = maps.filter { FileManager.default.fileExists(atPath: $0.path) }.flatMap {
            ["-Xcc", "-fmodule-map-file=\($0.path)"]
        }
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [
                "swiftc", "-typecheck", "-swift-version", "6", "-I",
                productsFolder.appendingPathComponent("Modules").path,
                // What the headers of libraries that are loaded late have in common.
                "-Xcc", "-I\(projectFolder.appendingPathComponent("Sources/CLibraries/CLoading/include").path)",
            ]
            + mapArguments + options + [file.path]
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? "" : String(decoding: output, as: UTF8.self)
    }
}
