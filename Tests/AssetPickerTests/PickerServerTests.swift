#if Receiver && Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetPicker

@Suite(.timeLimit(.minutes(5))) struct PickerServerTests {
    @Test func thePageRunsNothingButItsOwnScripts() async throws {
        let picker = try Picker(1)
        let text = try await picker.exchange(Array(picker.request("GET", "").utf8))
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"))
        #expect(text.contains("Referrer-Policy: no-referrer\r\n") && text.contains("Cache-Control: no-store\r\n"))
        #expect(text.contains("<!doctype html>") && !text.contains("<script>") && !text.contains("style=\""))
        for (path, sign) in [("picker.js", "import "), ("uploads.js", "export "), ("picker.css", ":root")] {
            let (status, body) = try await picker.answer("GET", path)
            #expect(status == 200 && body.contains(sign), "\(path)")
            #expect(!body.contains("http://") && !body.contains("https://") && !body.contains("innerHTML"))
        }
    }

    @Test func theListIsInPages() async throws {
        struct Answer: Decodable { let limit: Int, total: Int, assets: [PickerAsset] }
        let picker = try Picker(PickerAssets.pageCount + 1)
        for (index, count) in [(0, PickerAssets.pageCount), (500, 1), (501, 0), (Int.max, 0), (-1, 500)] {
            let (status, body) = try await picker.answer("GET", "assets?from=\(index)")
            let answer = try JSONDecoder().decode(Answer.self, from: Data(body.utf8))
            #expect(status == 200 && answer.total == 501 && answer.limit == 3 && answer.assets.count == count)
            if index == 500 { #expect(answer.assets == [picker.assets[500]]) }
        }
    }

    @Test(arguments: [
        ("image/*", 2, 400), ("video/mp4", 1, 202), ("image/png,VIDEO/*", 1, 202), ("*/*", 3, 202), ("*", 0, 400),
        ("", 0, 400),
    ])
    func onlyTheWantedTypesAreOffered(_ types: String, _ count: Int, _ statusOfFilm: Int) async throws {
        let picker = try Picker(3, types: types)
        #expect(try await picker.answer("GET", "assets?from=0").1.contains("\"total\":\(count)"))
        let film = "[\"\(picker.assets[2].id)\"]"
        #expect(try await picker.answer("POST", "uploads", film).0 == statusOfFilm)
    }

    @Test func thereAreThumbnailsOfPictures() async throws {
        let picker = try Picker(3)
        let text = try await picker.exchange(Array(picker.request("GET", "thumbnails?\(picker.assets[0].id)").utf8))
        #expect(text.contains("Content-Type: image/jpeg\r\n") && text.contains("max-age=3600"))
        #expect(try await picker.answer("GET", "thumbnails?\(picker.assets[2].id)").0 == 404)
        #expect(try await picker.answer("GET", "thumbnails?\(UUID())").0 == 404)
        #expect(try await picker.answer("GET", "thumbnails?../../etc/passwd").0 == 404)
        #expect(try await picker.answer("GET", "thumbnails?%zz").0 == 400)
    }

    @Test func aChoiceIsStoredBeforeItIsAnswered() async throws {
        let picker = try Picker(4)
        let ids = picker.assets[..<3].map { "\"\($0.id)\"" }.joined(separator: ",")
        #expect(try await picker.answer("POST", "uploads", "[\(ids)]").0 == 202)
        let data = try Data(contentsOf: picker.folder.url("uploads.json"))
        #expect(try JSONDecoder().decode([UploadItem].self, from: data).map(\.name) == ["0", "1", "2"])
        let (status, body) = try await picker.answer("GET", "uploads?after=0")
        #expect(status == 200 && body.contains("\"phase\":\"waiting\""))
        #expect(try await picker.answer("DELETE", "uploads?\(picker.assets[1].id)").0 == 202)
        #expect(try await picker.answer("DELETE", "uploads").0 == 202)
        #expect(picker.uploads.queue.value.items.map(\.name) == ["0", "2"])
    }

    @Test func whatCannotBeChosenIsRefused() async throws {
        let picker = try Picker(5)
        let ids = picker.assets.map { "\"\($0.id)\"" }
        for body in ["", "[]", "{}", "[1]", "[\"x\"]", "[\(ids.prefix(4).joined(separator: ","))]", "[\"\(UUID())\"]"] {
            #expect(try await picker.answer("POST", "uploads", body).0 == 400, "\(body)")
        }
        #expect(picker.uploads.queue.value.items.isEmpty)
    }

    @Test func aPageWaitsForAChange() async throws {
        let picker = try Picker(1)
        let version = picker.uploads.queue.value.version
        async let answer = picker.answer("GET", "uploads?after=\(version)")
        try await picker.uploads.add(picker.assets)
        #expect(try await answer.1.contains("\"version\":\(version + 1)"))
        // Without a change, it is answered after a time.
        #expect(await picker.uploads.queue(after: version + 1, within: .milliseconds(1)).version == version + 1)
    }

    @Test func otherPathsAndMethodsAreRefused() async throws {
        let picker = try Picker(1)
        for (method, path, status) in [
            ("GET", "nothing", 404), ("GET", "../", 404), ("PUT", "uploads", 405), ("POST", "", 405),
            ("GET", "assets", 400), ("GET", "assets?from=x", 400), ("GET", "uploads?before=1", 400),
            ("GET", "assets?from=99999999999999999999", 400), ("OPTIONS", "uploads", 405),
        ] {
            #expect(try await picker.answer(method, path).0 == status, "\(method) \(path)")
        }
        let own = picker.request("GET", "")
        for (old, new, status) in [
            ("/\(picker.session.token)/", "/\(PickerSession().token)/", 404),
            ("Host: 127.0.0.1", "Host: localhost", 403), ("Origin: http://127", "Origin: http://126", 403),
        ] {
            let text = try await picker.exchange(Array(own.replacing(old, with: new).utf8))
            #expect(text.hasPrefix("HTTP/1.1 \(status) ") && text.contains("nosniff"), "\(new)")
        }
    }

    @Test func aLongBodyIsRefused() async throws {
        let picker = try Picker(1)
        let text = String(repeating: " ", count: PickerServer.maximumBodyByteCount)
        #expect(try await picker.answer("POST", "uploads", text).0 == 400)
        let bytes = Array(picker.request("POST", "uploads", text + " ").utf8)
        let answer = try await picker.exchange(bytes)
        #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("nosniff"))
        #expect(picker.uploads.queue.value.items.isEmpty)
    }

    @Test func noPrefixAndNoFlippedBitOfARequestIsTaken() async throws {
        let picker = try Picker(1)
        let body = "[\"\(picker.assets[0].id)\"]"
        let request = Array(picker.request("POST", "uploads", body).utf8)
        for count in 0..<request.count { _ = try await picker.exchange(Array(request[..<count]), ends: true) }
        #expect(picker.uploads.queue.value.items.isEmpty)
        let path = request.firstIndex(of: UInt8(ascii: "/")).map { $0..<($0 + picker.session.token.count + 2) } ?? 0..<0
        for index in request.indices {
            // Every bit of the token, and one of each other byte: each request waits for a thread of a pool that other
            // tests keep busy.
            for bit in path.contains(index) ? 0..<8 : index % 8..<index % 8 + 1 {
                let wrong = request.flipping(1 << bit, at: index)
                let answer = try await picker.exchange(wrong, ends: true)
                if path.contains(index) { #expect(!answer.hasPrefix("HTTP/1.1 2"), "\(index) \(bit)") }
            }
        }
        #expect(try await picker.answer("GET", "").0 == 200)
    }

    @Test func aConnectionBeyondTheLimitIsRefusedUntilAnotherIsClosed() async throws {
        let picker = try Picker(1)
        var connections = try await picker.openConnections(PickerServer.maximumConnectionCount)
        defer { for connection in connections { close(connection) } }
        #expect(try await picker.answer("GET", "").0 == 503)
        close(connections.removeLast())
        // The server notices the end of the connection after a while.
        var status = 503
        while status == 503 { status = try await picker.answer("GET", "").0 }
        #expect(status == 200)
    }

    @Test func aSlowRequestIsRefusedAndAWaitingPageIsNot() async throws {
        let picker = try Picker(1, within: .seconds(1))
        let version = picker.uploads.queue.value.version
        async let waiting = picker.answer("GET", "uploads?after=\(version)")
        let request = picker.request("POST", "uploads", String(repeating: " ", count: 100))
        // Without the end of the header, and without the end of the body.
        for count in [50, request.utf8.count - 1] {
            let answer = try await picker.exchange(Array(request.utf8.prefix(count)))
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
        }
        // Twice the time limit has elapsed, but not the 20 seconds after which the page is answered without a change.
        try await picker.uploads.add(picker.assets)
        #expect(try await waiting.1.contains("\"version\":\(version + 1)"))
    }

    @Test func aSecondPickerOfAFolderIsRefused() async throws {
        let picker = try Picker(1)
        let folder = picker.folder.url("")
        let assets = PickerAssets(FileCatalogue(folder: folder, files: []), types: "")
        let second = PickerServer(keepingStateIn: folder, PickerRoutes(assets, picker.uploads, limit: 1))
        #expect(codeThrown { try second.listen() } == .unavailable)
        #expect(PickerSession.load(from: folder) == picker.session)
    }
}
#endif
