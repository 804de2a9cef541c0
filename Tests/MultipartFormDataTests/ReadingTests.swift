import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import MultipartFormData
import MultipartURLRequest
import Testing

/// Reading bodies: from any offset, again, and with parts that wait.
@Suite(.timeLimit(.minutes(10))) struct ReadingTests {
    /// Every kind of part that has a length and can be read again.
    private func makeForm(file: URL) throws -> MultipartBody {
        try makeBody {
            try $0.appendPart(value: "", name: "empty")
            try $0.appendPart(value: "v", name: "value")
            try $0.appendPart(fileURL: file, name: "file")
            try $0.appendPart(data: Data("data".utf8), name: "data", fileName: "d")
            try $0.appendPart(source: MemorySource([]), name: "nothing")
            try $0.appendPart(
                source: MemorySource("event-driven".utf8).readingAhead(), name: "events", fileName: "e")
            try $0.appendPart(
                makingStreams: { InputStream(data: Data("stream".utf8)) }, byteCount: 6, name: "stream", fileName: "s")
            try $0.appendPart(source: FileSource(url: file).slice(1..<3), name: "slice", fileName: "f")
        }
    }

    @Test func everyOffsetIsTheTailOfTheWhole() async throws {
        try await withFile("x.txt", Data("\r\nfile\r\n--".utf8)) { file in
            let body = try self.makeForm(file: file)
            let whole = try await bytes(of: body)
            #expect(Int64(whole.count) == body.byteCount)
            try await onThread {
                for offset in 0...whole.count {
                    let reader = try body.open(at: Int64(offset))
                    var tail = Data()
                    while case let piece = try Data(readingAtMost: 7, from: reader), !piece.isEmpty { tail += piece }
                    #expect(tail == whole.dropFirst(offset), "at \(offset)")
                    reader.close()
                }
            }
            #expect(codeThrown { try body.open(at: Int64(whole.count) + 1) } == .invalidArgument)
        }
    }

    @Test func aFormKeepsEveryContract() async throws {
        try await withFile("x.txt", Data("\r\nfile\r\n--".utf8)) { file in
            let body = try self.makeForm(file: file)
            let whole = try await bytes(of: body)
            let found = await violations(of: body, expecting: whole)
            #expect(found.isEmpty, "\(found)")
            let again = await violations(of: try self.makeForm(file: file), expecting: whole)
            #expect(again.isEmpty, "\(again)")
            let blocking = try makeBody {
                try $0.appendPart(fileURL: file, name: "file")
                try $0.appendPart(value: "v", name: "value")
            }
            let third = await violations(of: blocking, expecting: try await bytes(of: blocking))
            #expect(third.isEmpty, "\(third)")
        }
    }

    /// Parts that never block, that block, and that are not open yet and say `notYet` in between.
    @Test(arguments: [0, 1, 5000]) func aFormKeepsEveryContractOverEveryKindOfPart(length: Int) async throws {
        let memory = MemorySource(Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
        let kinds: [any BlobInputStreamDataSource] = [
            memory, FaultSource(memory, .half), DripSource(memory), ReadAheadSource(FaultSource(memory, .half)),
        ]
        for kind in kinds {
            let body = try makeBody {
                try $0.appendPart(value: "v", name: "value")
                try $0.appendPart(source: kind, name: "file", fileName: "f")
                try $0.appendPart(value: kind, name: "field")
            }
            let found = await violations(of: body, expecting: try await bytes(of: body))
            #expect(found.isEmpty, "\(found), \(type(of: kind))")
        }
    }

    @Test func aFormOfUnknownLengthKeepsEveryContract() async throws {
        let make = { @Sendable in
            try makeBody {
                try $0.appendPart(value: "v", name: "value")
                try $0.appendPart(
                    makingStreams: { InputStream(data: Data("unknown".utf8)) }, byteCount: nil, name: "s", fileName: "s"
                )
            }
        }
        let body = try make()
        #expect(body.byteCount == nil)
        let whole = try await bytes(of: body)
        #expect(String(decoding: whole, as: UTF8.self).hasSuffix("\r\n\r\nunknown\r\n--B--\r\n"))
        let found = await violations(of: try make(), expecting: whole)
        #expect(found.isEmpty, "\(found)")
    }

    @Test func aFormWithAStreamOfItsOwnIsReadOnce() async throws {
        let make = { @Sendable in
            try makeBody {
                try $0.appendPart(value: "v", name: "value")
                try $0.appendPart(
                    inputStream: InputStream(data: Data("once".utf8)), byteCount: 4, name: "s", fileName: "s")
            }
        }
        let body = try make()
        #expect(!body.traits.contains(.repeatable))
        let whole = try await bytes(of: body)
        #expect(Int64(whole.count) == body.byteCount)
        #expect(codeThrown { try body.open() } == .unsupported)
        let found = await violations(of: try make(), expecting: whole)
        #expect(found.isEmpty, "\(found)")
    }

    @Test func aStreamOverABodyIsReplayed() async throws {
        try await withFile("x", Data(count: 100_000)) { file in
            let body = try self.makeForm(file: file)
            let whole = try await bytes(of: body)
            try await onThread {
                var stream = BlobInputStream(body)
                for _ in 0..<3 {
                    stream.open()
                    var all = Data()
                    var buffer = [UInt8](repeating: 0, count: 4096)
                    while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 {
                        all += buffer[..<count]
                    }
                    #expect(all == whole)
                    stream.close()
                    stream = stream.unopenedCopy()
                }
            }
        }
    }

    // MARK: Parts that wait

    @Test func aFormWithAPartThatWaitsForEventsWaitsForEvents() async throws {
        let pipe = BlobPipe(info: BlobInfo(byteCount: 2))
        let body = try makeBody {
            try $0.appendPart(data: Data("first".utf8), name: "first", fileName: "f")
            try $0.appendPart(source: pipe.source, name: "pipe")
        }
        #expect(body.traits.contains(.neverBlocks))
        try await onThread {
            let reader = try body.open()
            var all = Data()
            func readWhileReady() throws -> BlobReadResult {
                while true {
                    var piece = [UInt8](repeating: 0, count: 100)
                    let result = try piece.withUnsafeMutableBytes { buffer in
                        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                        let result = try reader.read(into: &output)
                        all += buffer[..<output.finalize(for: buffer)]
                        return result
                    }
                    guard result == .bytes else { return result }
                }
            }
            let beginning =
                "first\r\n--B\r\nContent-Disposition: form-data; name=\"pipe\"; filename=\"blob\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\n"
            #expect(try readWhileReady() == .notYet)
            #expect(all.suffix(beginning.utf8.count) == Data(beginning.utf8))
            let signal = WaitSignal()
            reader.whenReadable(BlobWaker { signal.signal() })
            try pipe.write(Data("ab".utf8))
            pipe.finish()
            #expect(signal.wait(for: .seconds(60)))
            #expect(try readWhileReady() == .end)
            #expect(Int64(all.count) == body.byteCount)
            #expect(all.suffix(11) == Data("ab\r\n--B--\r\n".utf8))
        }
    }

    // MARK: Identity

    @Test func theSameFormIsTheSameContent() async throws {
        try await withFile("x", Data("abc".utf8)) { file in
            func validator(_ boundary: String = "B", value: String = "v") throws -> BlobValidator {
                let body = try makeBody(boundary: boundary) {
                    try $0.appendPart(value: value, name: "value")
                    try $0.appendPart(fileURL: file, name: "file")
                }
                let made = try body.info().validator
                return try #require(made)
            }
            let first = try validator()
            #expect(!first.isStrong)
            #expect(try validator() == first)
            #expect(try validator("C") != first)
            #expect(try validator(value: "w") != first)
            try Data("abd".utf8).write(to: file)
            #expect(try validator() != first)
        }
    }

    @Test func aFormOfValuesHasAStrongIdentityForAllProcesses() throws {
        func validator(_ values: String...) throws -> BlobValidator? {
            try makeBody { form in
                for value in values { try form.appendPart(value: value, name: "n") }
            }
            .info().validator
        }
        let made = try validator("a", "b")
        let wanted = try #require(made)
        #expect(wanted.isStrong)
        #expect(try validator("a", "b") == wanted)
        #expect(try validator("ab") != wanted)
        #expect(try validator("a", "c") != wanted)
        // Nothing of this process is in it.
        #expect(!wanted.text.contains("memory"))
    }

    @Test func aPartWithoutIdentityLeavesTheFormWithoutOne() throws {
        let body = try makeBody {
            try $0.appendPart(makingStreams: { nil }, byteCount: 1, name: "s", fileName: "s")
        }
        #expect(try body.info().validator == nil)
    }
}
