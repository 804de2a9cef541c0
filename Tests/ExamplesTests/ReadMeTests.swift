import BlobTestSupport
import Foundation
import Testing

/// The blocks of Swift of the README are programs, and do what it says.
@Suite(.timeLimit(.minutes(5))) struct ReadMeTests {
    @Test(arguments: ["Plugin", "Form", "Observed"]) func aBlockIsAProgram(_ name: String) throws {
        let program = try Self.text(of: "Tests/ReadMe/\(name)/main.swift")
        #expect(try Self.text(of: "README.md").contains("```swift\n\(program)```"))
    }

    @Test func thereIsNoOtherBlockOfSwift() throws {
        let blocks = try Self.text(of: "README.md").components(separatedBy: "```swift\n").dropFirst()
        #expect(blocks.count { !$0.hasPrefix(".package(") } == 3)
    }

    @Test func thePluginComputesItsBytesAtAnOffset() throws {
        #expect(try finished("ReadMePlugin").outputText == "[33, 68, 105]\n")
    }

    @Test func theFormOfAMemberArrives() throws {
        let folder = try TemporaryFolder()
        _ = try shell("mkdir photos && seq 1 100000 >photos/1.jpg && tar -czf backup.tgz photos", in: folder.url)
        let digest = try output(of: "blob", ["sum", folder.path("photos/1.jpg")]).prefix { $0 != " " }
        try withReceiver { url in
            let form = productsFolder.appendingPathComponent("ReadMeForm").path
            let run = try FinishedProcess(form, [url], in: folder.url)
            #expect(run.status == 0 && run.outputText.hasPrefix("201 "), "\(run.errors)")
            #expect(run.outputText.contains(digest) && run.outputText.contains("\"filename\":\"1.jpg\""))
        }
    }

    @Test func theStreamIsObserved() throws {
        let folder = try TemporaryFolder()
        _ = try shell("seq 1 100000 >log && gzip -k log", in: folder.url)
        let observed = productsFolder.appendingPathComponent("ReadMeObserved").path
        let lines = try FinishedProcess(observed, [], in: folder.url).outputText.split(separator: "\n")
        #expect(lines.filter { $0.contains("->") } == ["notOpen -> opening", "opening -> open", "open -> atEnd"])
        #expect(lines.last { $0.hasSuffix(" bytes") } == "588895 bytes")
        #expect(lines.last == "every byte arrived, and its checksum is right")
        _ = try shell("head -c 50000 log.gz >cut.gz && mv cut.gz log.gz", in: folder.url)
        let cut = try FinishedProcess(observed, [], in: folder.url).outputText.split(separator: "\n")
        #expect(cut.last?.hasPrefix("failed: truncated: ") == true, "\(cut)")
    }

    @Test func theReadMeIsShort() throws {
        #expect(try Self.text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
    }

    @Test func noLinkOrPictureIsMissing() throws {
        let run = try FinishedProcess("python3", [projectFolder.appendingPathComponent(".ci/docs").path])
        #expect(run.status == 0, "\(run.outputText)")
    }

    @Test func aBrokenLinkIsFound() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(at: folder.url(".ci"), withIntermediateDirectories: false)
        try FileManager.default.copyItem(
            at: projectFolder.appendingPathComponent(".ci/docs"), to: folder.url(".ci/docs"))
        let page = """
            # A title
            [Right](README.md#a-title), [too](#a-title), [web](https://example.com/), `[code](nowhere.md)`.
            [File](nowhere.md), [heading](#no-title), ![picture](nowhere.png), <doc:Nowhere>
            <picture><source srcset="dark.svg"><img src="light.svg"></picture>
            """
        try Data(page.utf8).write(to: folder.url("README.md"))
        let run = try FinishedProcess("python3", [folder.path(".ci/docs")])
        let found = ["nowhere.md", "#no-title", "nowhere.png", "doc:Nowhere", "dark.svg", "light.svg"]
        #expect(run.status == 1)
        #expect(
            run.outputText.split(separator: "\n").dropLast() == found.map { "README.md: \($0) is not there" }[...],
            "\(run.outputText)")
    }

    private static func text(of path: String) throws -> String {
        try String(contentsOf: projectFolder.appendingPathComponent(path), encoding: .utf8)
    }
}
