#if Command
import BlobCore
import BlobExtraction
import BlobTestSupport
import Foundation
import Testing

/// The writer of members beneath a folder, with either way to resolve paths.
@Suite struct OutputFolderTests {
    private let outside: TemporaryFolder

    init() throws {
        self.outside = try TemporaryFolder()
        try self.outside.write("secret", to: "secret")
        try self.outside.makeFolder("out")
    }

    private var root: String { self.outside.path("out") }

    private func folder(_ resolvesInKernel: Bool, isReplacing: Bool = false) throws -> OutputFolder {
        try OutputFolder(path: Array(self.root.utf8), isReplacing: isReplacing, resolvesInKernel: resolvesInKernel)
    }

    private func write(
        _ text: String, to name: String, in folder: OutputFolder, permissions: UInt16? = nil, linkTarget: String? = nil
    ) throws {
        let member = BlobMember(
            index: 0, name: Array(name.utf8), kind: linkTarget == nil ? .file : .hardLink, permissions: permissions,
            linkTarget: linkTarget.map { Array($0.utf8) })
        let file = try folder.makeFile(member)
        try Array(text.utf8).withUnsafeBytes { try file.write($0) }
        try folder.commit(file)
    }

    private func link(_ name: String, to target: String, kind: BlobMember.Kind = .symbolicLink) -> BlobMember {
        BlobMember(index: 0, name: Array(name.utf8), kind: kind, linkTarget: Array(target.utf8))
    }

    @Test(arguments: [true, false]) func aPathThroughALinkIsRefused(_ resolvesInKernel: Bool) throws {
        try FileManager.default.createSymbolicLink(atPath: self.root + "/l", withDestinationPath: "..")
        try self.outside.write("", to: "out/f")
        let folder = try self.folder(resolvesInKernel, isReplacing: true)
        for name in ["l/secret", "l/new", "l/out/x", "f/x"] {
            #expect(throws: BlobError.self) { try self.write("evil", to: name, in: folder) }
        }
        #expect(throws: BlobError.self) { try folder.makeHardLink(self.link("h", to: "l/secret", kind: .hardLink)) }
        // The link itself is replaced, and its target is not.
        try self.write("new", to: "l", in: folder)
        folder.finish()
        #expect(self.outside.names == ["out", "secret"] && self.outside.read("secret") == "secret")
        #expect(self.outside.read("out/l") == "new")
    }

    @Test(arguments: [true, false]) func foldersAreMadeAndClosedInTheEnd(_ resolvesInKernel: Bool) throws {
        let folder = try self.folder(resolvesInKernel)
        let time = Date(timeIntervalSince1970: 1_000_000_000.5)
        try folder.makeFolder(
            BlobMember(
                index: 0, name: Array("a/b/".utf8), kind: .directory, modificationTime: time, permissions: 0o6555))
        try self.write("x", to: "./a//b/./c", in: folder, permissions: 0o6751)
        #expect(folder.folderCount == 2)
        folder.finish()
        #expect(try self.outside.mode("out/a/b") & 0o7222 == 0)
        #expect(try self.outside.mode("out/a/b/c") & 0o7000 == 0)
        #expect(try self.outside.mode("out/a/b/c") & 0o711 == 0o711)
        let attributes = try FileManager.default.attributesOfItem(atPath: self.root + "/a/b")
        #expect(attributes[.modificationDate] as? Date == time)
        chmod(self.root + "/a/b", 0o755)
    }

    /// In a folder made here, names are not looked up before the bytes are written.
    @Test(arguments: [true, false]) func aNameThatIsTakenInANewFolderIsKept(_ resolvesInKernel: Bool) throws {
        let folder = try self.folder(resolvesInKernel)
        try self.write("first", to: "d/a", in: folder)
        let twice = #expect(throws: BlobError.self) { try self.write("second", to: "d/a", in: folder) }
        #expect(twice?.systemErrorNumber == EEXIST)
        let member = BlobMember(index: 0, name: Array("d/b".utf8))
        let file = try folder.makeFile(member)
        try self.outside.write("other", to: "out/d/b")
        let taken = #expect(throws: BlobError.self) { try folder.commit(file) }
        #expect(taken?.systemErrorNumber == EEXIST && taken?.message.contains("already exists; skipped") == true)
        #expect(taken?.remedy == .overwriting)
        try self.write("x", to: "d/c/x", in: folder)
        let isFolder = #expect(throws: BlobError.self) { try self.write("y", to: "d/c", in: folder) }
        #expect(isFolder?.systemErrorNumber == EISDIR)
        folder.finish()
        #expect(self.outside.read("out/d/a") == "first" && self.outside.read("out/d/b") == "other")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.root) == ["d"])
    }

    @Test func onlyTargetsThatAreBeneathTheFolderThroughAnyLinkAreLinkedTo() throws {
        let folder = try self.folder(true)
        for (name, target) in [
            ("l", ".."), ("l", "/"), ("l", ""), ("l", "a/.."), ("l", "a/../../x"), ("d/l", "../.."),
            ("d/l", "../../out"),
            ("d/l", "../a/../../x"), ("l", "a\0b"),
        ] {
            let error = #expect(throws: BlobError.self) { try folder.makeSymbolicLink(self.link(name, to: target)) }
            #expect(error?.code == .unsupported)
        }
        for (name, target) in [("l1", "a"), ("l2", "."), ("d/l3", ".."), ("d/l4", "../x/y"), ("l5", "./a/./b")] {
            try folder.makeSymbolicLink(self.link(name, to: target))
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(self.root)/\(name)") == target)
        }
    }

    @Test func aHardLinkIsToAFileExtractedBeforeAlone() throws {
        try self.outside.write("before", to: "out/before")
        let folder = try self.folder(true)
        try self.write("x", to: "a", in: folder)
        try folder.makeSymbolicLink(self.link("s", to: "a"))
        for target in ["before", "s", "missing", "../secret", "d"] {
            let error = #expect(throws: BlobError.self) {
                try folder.makeHardLink(self.link("h", to: target, kind: .hardLink))
            }
            #expect(error?.code == .unsupported)
        }
        try folder.makeHardLink(self.link("d/h", to: "./a", kind: .hardLink))
        #expect(self.outside.read("out/d/h") == "x")
    }

    @Test func theBytesOfALinkAreThoseOfAllNames() throws {
        let folder = try self.folder(true)
        try self.write("", to: "a", in: folder)
        try folder.makeHardLink(self.link("b", to: "a", kind: .hardLink))
        try self.write("all", to: "c", in: folder, linkTarget: "a")
        folder.finish()
        for name in ["a", "b", "c"] { #expect(self.outside.read("out/\(name)") == "all") }
        let attributes = try FileManager.default.attributesOfItem(atPath: self.root + "/a")
        #expect(attributes[.referenceCount] as? Int == 3)
    }

    @Test func whatIsIncompleteHasNoNameAndIsRemovedWhenTheProcessIsGone() throws {
        try self.outside.makeFolder("out/.blob-extract-0123456789abcdef")
        try self.outside.write("half", to: "out/.blob-extract-0123456789abcdef/file")
        // Of another program, or in use: both stay.
        try self.outside.makeFolder("out/.blob-extract-x")
        let first = try self.folder(true)
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: self.root)) == [".blob-extract-x"])
        let file = try first.makeFile(BlobMember(index: 0, name: Array("a".utf8)))
        let second = try self.folder(true)
        try self.write("b", to: "b", in: second)
        second.finish()
        try first.commit(file)
        first.finish()
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: self.root)) == [".blob-extract-x", "a", "b"])
        let error = #expect(throws: BlobError.self) { try self.write("x", to: ".Blob-extract-1", in: first) }
        #expect(error?.code == .unsupported)
    }

    @Test(arguments: ["/a", "a/../b", "..", "a\0b", ".", "", String(repeating: "a/", count: 2048)])
    func aNameThatIsNoPlaceBeneathTheFolderIsRefused(_ name: String) throws {
        let folder = try self.folder(true)
        let error = #expect(throws: BlobError.self) { try self.write("x", to: name, in: folder) }
        #expect(error?.code == .unsupported)
        #expect(folder.folderCount == 0)
    }

    /// A private folder is never open to others, not even while its members are written.
    @Test(arguments: [true, false]) func aPrivateFolderIsPrivateAtOnce(_ resolvesInKernel: Bool) throws {
        let folder = try self.folder(resolvesInKernel)
        try folder.makeFolder(
            BlobMember(index: 0, name: Array("private".utf8), kind: .directory, permissions: 0o500))
        let permissions = {
            try FileManager.default.attributesOfItem(atPath: self.root + "/private")[.posixPermissions] as? Int
        }
        #expect(try permissions() == 0o700)
        try self.write("key", to: "private/key", in: folder)
        folder.finish()
        #expect(try permissions() == 0o500)
    }

    /// A folder for incomplete files that is not locked yet looks like one that a killed process left.
    @Test func writersThatBeginAtOnceDoNotDisturbEachOther() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    try await onThread {
                        for number in 0..<300 {
                            let folder = try OutputFolder(path: Array(self.root.utf8))
                            try self.write("x", to: "\(writer)-\(number)", in: folder)
                            folder.finish()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.root).count == 1200)
    }
}
#endif
