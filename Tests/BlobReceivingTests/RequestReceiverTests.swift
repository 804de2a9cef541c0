import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

@Suite struct RequestReceiverTests {
    @Test(arguments: [
        ("plain.txt", "plain.txt"), ("", "upload"), (".", "%2E"), ("..", "%2E."),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        ("-rf", "%2Drf"), (".hidden", "%2Ehidden"), ("a b\n", "a%20b%0A"), ("C:\\x", "C%3A%5Cx"), ("a\0b", "a%00b"),
        ("é", "%C3%A9"), ("100%", "100%25"),
    ])
    func namesAreMadeHarmless(name: String, file: String) {
        #expect(SafeFileName.fileName(from: name.utf8) == file)
    }

    @Test func longNamesAreCutBetweenBytes() {
        #expect(SafeFileName.fileName(from: [UInt8](repeating: 0x61, count: 1000)).utf8.count == 200)
        #expect(
            SafeFileName.fileName(from: [UInt8](repeating: 0xFF, count: 1000)) == String(repeating: "%FF", count: 66))
    }

    @Test func aRawBodyIsStoredUnderItsName() throws {
        let folder = try TemporaryFolder()
        for number in 1...2 {
            let receiver = try RequestReceiver(
                path: "/a/b%2fc.bin?d", contentType: "image/png", folder: folder.path, maximumByteCount: nil)
            try receiver.receive("abc")
            #expect(folder.visibleNames.count == number - 1)
            let part = try #require(try receiver.answer().parts.first)
            #expect(part.name == "b/c.bin")
            #expect(part.byteCount == 3)
            #expect(part.mediaType == "image/png")
            #expect(part.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
            let file = number == 1 ? "b%2Fc.bin" : "b%2Fc.bin-2"
            #expect(part.file == folder.path(file))
            #expect(FileManager.default.contents(atPath: folder.path(file)) == Data("abc".utf8))
        }
        #expect(folder.names.count == 2)
    }

    /// What the receiver remembers of a file ends when others touch the file.
    @Test(arguments: ["append", "overwrite", "replace", "touch", "remove", "link"])
    func aFileThatWasTouchedIsNotRemembered(change: String) throws {
        let (folder, stored) = (try TemporaryFolder(), StoredFiles())
        let receiver = try RequestReceiver(
            path: "/x", contentType: nil, folder: folder.path, maximumByteCount: nil, storedFiles: stored)
        try receiver.receive("abc")
        _ = try receiver.answer()
        #expect(try stored.headReceiver("/x").answer().status == 200)
        #expect(try stored.headReceiver("/x").answer().status == 200)
        let path = folder.path("x")
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        switch change {
        case "append":
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("d".utf8))
        case "overwrite":
            // As many bytes, and the time of before: the time of the status change tells.
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
            try handle.write(contentsOf: Data("xyz".utf8))
            try FileManager.default.setAttributes([.modificationDate: try #require(date)], ofItemAtPath: path)
        case "replace": try Data("xyz".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        case "touch":
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 9)], ofItemAtPath: path)
        case "remove": try FileManager.default.removeItem(atPath: path)
        default:
            try FileManager.default.moveItem(atPath: path, toPath: path + "-2")
            symlink(path + "-2", path)
        }
        #expect(try stored.headReceiver("/x").answer().status == 404)
    }

    @Test func aFormIsAllOrNothing() throws {
        let folder = try TemporaryFolder()
        let part = "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"../x\"\r\n\r\nabc\r\n"
        let type = "Multipart/Form-Data; boundary=\"B\""
        for end in ["", "--B", "--B-", "--Bx", "--B\r\nX\r\n\r\n"] {
            let receiver = try RequestReceiver(path: "/", contentType: type, folder: folder.path, maximumByteCount: nil)
            #expect(throws: BlobError.self) {
                try receiver.receive(part + end)
                return try receiver.answer()
            }
            receiver.abandon()
            #expect(folder.names == [])
        }
        let receiver = try RequestReceiver(path: "/", contentType: type, folder: folder.path, maximumByteCount: nil)
        try receiver.receive(part + part + "--B--")
        #expect(folder.visibleNames == [])
        #expect(try receiver.answer().parts.map(\.filename) == ["../x", "../x"])
        #expect(folder.names == ["%2E.%2Fx", "%2E.%2Fx-2"])
    }

    /// Files of earlier runs, of which nothing is known: 1, 2, 3 and more than any count of attempts.
    @Test(arguments: [1, 2, 3, 17, 10_000]) func aNameThatIsTakenGetsTheNextNumber(count: Int) throws {
        let folder = try TemporaryFolder()
        for number in 1...count {
            let name = number == 1 ? "x" : "x-\(number)"
            #expect(FileManager.default.createFile(atPath: folder.path(name), contents: nil))
        }
        for number in 1...3 {
            let receiver = try RequestReceiver(
                path: "/x", contentType: nil, folder: folder.path, maximumByteCount: nil)
            try receiver.receive("abc")
            #expect(try receiver.answer().parts.first?.file == "\(folder.path)/x-\(count + number)")
        }
        #expect(folder.names.count == count + 3)
    }

    /// More than are put on the disk one by one.
    @Test func manyPartsAreStoredInTheirOrder() throws {
        let folder = try TemporaryFolder()
        // A number that is taken is gone over.
        #expect(FileManager.default.createFile(atPath: folder.path("x-20"), contents: Data()))
        let receiver = try RequestReceiver(
            path: "/", contentType: "multipart/form-data; boundary=B", folder: folder.path, maximumByteCount: nil)
        for number in 1...40 {
            try receiver.receive(
                "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x\"\r\n\r\n\(number)\r\n")
        }
        try receiver.receive("--B--")
        let files = try receiver.answer().parts.compactMap(\.file)
        #expect(Set(files).count == 40)
        for (index, file) in files.enumerated() {
            #expect(FileManager.default.contents(atPath: file) == Data("\(index + 1)".utf8))
        }
        #expect(files.last == folder.path("x-41"))
        #expect(folder.names.count == 41)
    }

    @Test func aReceiverThatIsDroppedLeavesNothing() throws {
        let folder = try TemporaryFolder()
        do {
            let receiver = try RequestReceiver(
                path: "/x", contentType: nil, folder: folder.path, maximumByteCount: nil)
            try receiver.receive("abc")
            #expect(folder.names.count == 1)
        }
        #expect(folder.names == [])
    }

    @Test func tooManyBytesAreRefused() throws {
        let receiver = try RequestReceiver(path: "/x", contentType: nil, folder: nil, maximumByteCount: 3)
        try receiver.receive("abc")
        #expect(codeThrown { try receiver.receive("d") } == .limitExceeded)
    }

    @Test(arguments: ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a"])
    func aFormWithoutABoundaryIsRefused(type: String) {
        #expect(
            codeThrown {
                try RequestReceiver(path: "/", contentType: type, folder: nil, maximumByteCount: nil)
            } == .corrupted)
    }

    @Test func theLineIsJSONThatComesBack() throws {
        let part = ReceivedPart(
            name: "a\n\"b/", filename: nil, mediaType: "x/y", byteCount: 7, sha256: "00", file: "/tmp/a")
        #expect(!part.line.contains("\n"))
        #expect(part.line.contains("\"byte_count\":7"))
        #expect(try JSONDecoder().decode(ReceivedPart.self, from: Data(part.line.utf8)) == part)
    }
}

extension RequestReceiver {
    fileprivate func receive(_ text: String) throws { try Array(text.utf8).withUnsafeBytes { try self.receive($0) } }
}

extension TemporaryFolder {
    var visibleNames: [String] { self.names.filter { !$0.hasPrefix(".") } }
}

extension RequestReceiver {
    convenience init(
        path: String, contentType: String?, fields: [RequestHead.Field] = [], folder: String?,
        maximumByteCount: Int64?, storedFiles: StoredFiles? = nil
    ) throws(BlobError) {
        let type = contentType.map { [(name: "Content-Type", value: $0)] } ?? []
        try self.init(
            RequestHead(method: "PUT", target: path, fields: fields + type), folder: folder,
            maximumByteCount: maximumByteCount, storedFiles: storedFiles)
    }
}
