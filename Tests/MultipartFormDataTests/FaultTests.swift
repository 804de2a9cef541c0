import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import MultipartFormData
import MultipartURLRequest
import Testing

/// Parts that are not what they were said to be.
@Suite(.timeLimit(.minutes(10))) struct FaultTests {
    private func stream(_ bytes: String, said byteCount: Int64, boundary: String = "B") throws -> MultipartBody {
        try makeBody(boundary: boundary) {
            try $0.appendPart(value: "v", name: "value")
            try $0.appendPart(
                makingStreams: { InputStream(data: Data(bytes.utf8)) }, byteCount: byteCount, name: "s", fileName: "s")
        }
    }

    @Test(arguments: [0, 1, 6]) func aStreamThatEndsTooEarlyIsTruncated(count: Int) async throws {
        let body = try self.stream(String("1234567".prefix(count)), said: 7)
        let error = try #require(await errorThrown { try await bytes(of: body) })
        #expect(error.code == .truncated)
        #expect(error.message == "Part 2 of 2 ('s'): The part ends after \(count) of the 7 bytes that were declared.")
        #expect(error.byteOffset == Int64(count))
        #expect(error.layers == ["MultipartBody", "MultipartPart"])
    }

    @Test(arguments: [0, 1, 7]) func aStreamThatGoesOnIsNoBody(count: Int) async throws {
        let body = try self.stream("12345678", said: Int64(count))
        let error = try #require(await errorThrown { try await bytes(of: body) })
        #expect(error.code == .sizeMismatch)
        #expect(error.message == "Part 2 of 2 ('s'): The part has more than the \(count) bytes that were declared.")
    }

    @Test(arguments: [-1, 1] as [Int64]) func aSourceThatLiesAboutItsSizeIsNamed(difference: Int64) async throws {
        let lying = FaultSource(MemorySource("12345".utf8), .wrongByteCount(by: difference))
        let body = try makeBody { try $0.appendPart(source: lying, name: "liar") }
        let error = try #require(await errorThrown { try await bytes(of: body) })
        #expect(error.code == .misbehavingPlugin)
        #expect(error.message.hasPrefix("Part 1 of 1 ('liar'): "))
    }

    @Test func aNegativeLengthIsRefused() {
        #expect(codeThrown { try self.stream("", said: -1) } == .invalidArgument)
    }

    @Test func aFileThatChangesAfterTheBodyWasMadeIsChanged() async throws {
        try await withFile("x", Data("123".utf8)) { file in
            let body = try makeBody { try $0.appendPart(fileURL: file, name: "file") }
            try Data("12345".utf8).write(to: file)
            let error = try #require(await errorThrown { try await bytes(of: body) })
            #expect(error.code == .changed)
            #expect(error.message.hasPrefix("Part 1 of 1 ('file'): "))
            #expect(error.locator?.hasSuffix("/x") == true)
            try FileManager.default.removeItem(at: file)
            #expect(await errorThrown { try await bytes(of: body) }?.code == .notFound)
        }
    }

    @Test func aFileThatIsNotThereIsNamedWhenTheBodyIsMade() async throws {
        var form = MultipartForm()
        try form.appendPart(fileURL: URL(fileURLWithPath: "/nowhere/x.bin"), name: "photo")
        let error = try #require(await errorThrown { try form.body() })
        #expect(error.code == .notFound)
        #expect(error.message.hasPrefix("Part 1 of 1 ('photo'): "))
        #expect(codeThrown { try form.appendPart(fileURL: URL(string: "http://x/y")!, name: "a") } == .invalidArgument)
    }

    @Test func anErrorInTheMiddleIsNeverAnEnd() async throws {
        let failing = FaultSource(MemorySource(Data(count: 100)), .fail(at: 50))
        for source in [failing, failing.readingAhead()] as [any BlobInputStreamDataSource] {
            let body = try makeBody {
                try $0.appendPart(source: source, name: "f")
                try $0.appendPart(value: "v", name: "value")
            }
            let error = try #require(await errorThrown { try await bytes(of: body) })
            #expect(error.code == .io)
            #expect(error.message.hasPrefix("Part 1 of 2 ('f'): "))
        }
    }

    @Test func aStreamThatCannotBeMadeIsUnavailable() async throws {
        let body = try makeBody { try $0.appendPart(makingStreams: { nil }, byteCount: 1, name: "s", fileName: "s") }
        let error = try #require(await errorThrown { try await bytes(of: body) })
        #expect(error.code == .unavailable)
        #expect(error.message.hasPrefix("Part 1 of 1 ('s'): "))
    }

    // MARK: The boundary in a part

    @Test(arguments: [
        ("--B", 0), ("--Bcd", 0), ("--B--", 0), ("a\r\n--B", 3), ("a\r\n--B-more", 3), ("\r\n\r\n--B", 4),
        ("\r\r\n--B", 3), ("\r\n--\r\n--B", 6), ("--\r\n--B\r\n", 4),
        ("\n--B", 1), ("a\r--B", 2), ("a--B", 1), ("---B", 1), ("-B--B", 2), ("a\r\n-B--B", 5),
    ])
    func aPartThatHoldsTheBoundaryIsRefused(bytes content: String, place: Int64) async throws {
        for chunk in [1, 2, 3, 100] {
            let source = FaultSource(MemorySource(content.utf8), chunk == 1 ? .oneByte : .half)
            for source in [MemorySource(content.utf8), source] as [any BlobInputStreamDataSource] {
                let body = try makeBody { try $0.appendPart(source: source, name: "holder") }
                let error = try #require(await errorThrown { try await bytes(of: body, chunk: chunk) })
                #expect(error.code == .invalidArgument)
                #expect(error.message.hasPrefix("Part 1 of 1 ('holder'): The part contains the boundary"))
                #expect(error.byteOffset == place)
            }
        }
    }

    @Test(arguments: [
        "-B", "-- B", "\n-B", "\r--\nB", "\r\n--", "\r\n-", "\r\n--\r\n", "\r\n--b", "a\r\n-B-B", "--", "--bB",
    ])
    func whatOnlyLooksLikeTheBoundaryIsNone(bytes content: String) async throws {
        for chunk in [1, 2, 100] {
            let body = try makeBody {
                try $0.appendPart(source: MemorySource(content.utf8), name: "a", fileName: "b")
                try $0.appendPart(value: Data(content.utf8), name: "v")
            }
            #expect(try await Int64(bytes(of: body, chunk: chunk).count) == body.byteCount)
        }
    }

    @Test func aBoundaryThatBeginsBeforeTheOffsetIsFound() async throws {
        let content = "0123\r\n--Bound--"
        let body = try makeBody(boundary: "Bound") {
            try $0.appendPart(source: MemorySource(content.utf8), name: "a", fileName: "b")
        }
        let length = try #require(body.byteCount)
        let start = length - Int64("\r\n--Bound--\r\n".utf8.count) - Int64(content.utf8.count)
        let last = start + Int64("0123\r\n--Boun".utf8.count)
        for offset in 0...length {
            let code = await errorThrown { try await bytes(of: body, from: offset) }?.code
            #expect(code == (offset <= last ? .invalidArgument : nil), "at \(offset - start)")
        }
    }

    @Test func aRandomBoundaryIsNotLookedFor() async throws {
        var form = MultipartForm()
        try form.appendPart(value: "\r\n--B", name: "a")
        let body = try form.body()
        #expect(try await Int64(bytes(of: body).count) == body.byteCount)
    }
}
