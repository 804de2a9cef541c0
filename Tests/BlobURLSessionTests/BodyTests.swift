import BlobStreams
import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

extension URLSessionTests {
    /// Bodies arrive as they are, with headers that say so.
    @Suite(.serialized) struct BodyTests {
        /// Around what a session reads at once, and what is announced on Linux.
        @Test(arguments: [0, 1, 65_523, 65_524, 65_525, 65_536, 65_537, 200_000, 3_000_000], modes)
        func aBodyArrivesWhole(byteCount: Int, mode: BlobStreamMode) async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let bytes = pattern(byteCount)
            let (_, response) = try await URLSessionUploader(mode: mode).upload(
                MemorySource(bytes), with: put(server.url()))
            #expect(response.statusCode == 200)
            let request = try #require(await server.requests.values(count: 1).first)
            #expect(request.method == "PUT")
            #expect(request.brought(bytes))
            let isAnnounced = byteCount <= announcedByteLimit
            #expect(request.values(of: "Transfer-Encoding") == (isAnnounced ? [] : ["chunked"]))
            #expect(request.values(of: "Content-Length") == (isAnnounced ? ["\(byteCount)"] : []))
        }

        @Test func whatIsNotKnownIsNotAnnounced() async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let source = ClosureSource { offset, output, _ in
                if offset == 0 { output.append(7) }
            }
            _ = try await URLSessionUploader().upload(source, with: put(server.url()))
            let request = try #require(await server.requests.values(count: 1).first)
            #expect(request.values(of: "Transfer-Encoding") == ["chunked"])
            #expect(request.body == Data([7]))
        }

        @Test func eventsAreAsGoodAsBlocking() async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let bytes = pattern(300_000)
            for mode in modes {
                let source = MemorySource(bytes).readingAhead()
                _ = try await URLSessionUploader(mode: mode).upload(source, with: put(server.url()))
            }
            let requests = await server.requests.values(count: 2)
            #expect(requests.map { $0.brought(bytes) } == [true, true])
        }

        @Test func handWrittenFramingIsTakenOut() async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["content-length": "4", "Transfer-Encoding": "gzip", "X-A": "1"]
            var request = put(server.url(), method: "POST")
            request.setValue("3", forHTTPHeaderField: "Content-Length")
            request.setValue("identity", forHTTPHeaderField: "Transfer-Encoding")
            request.setValue("2", forHTTPHeaderField: "X-B")
            let uploader = URLSessionUploader(configuration: configuration)
            _ = try await uploader.upload(MemorySource(pattern(5)), with: request)
            let received = try #require(await server.requests.values(count: 1).first)
            #expect(received.values(of: "Content-Length") == ["5"])
            #expect(received.values(of: "Transfer-Encoding").isEmpty)
            #expect(received.value(of: "X-A") == "1")
            #expect(received.value(of: "X-B") == "2")
            #expect(received.body == pattern(5))
            #expect(configuration.httpAdditionalHeaders?.count == 3)  // The caller's stays as it was.
        }

        @Test(arguments: [
            (String?.none, String?.none, String?.none, BlobUploadBody.defaultMediaType),
            (nil, nil, "image/jpeg", "image/jpeg"), (nil, "a/b", "image/jpeg", "a/b"),
            ("c/d", "a/b", "image/jpeg", "c/d"),
        ]) func theTypeIsTheRequestsOrTheConfigurationsOrTheSources(
            request: String?, configuration: String?, source: String?, expected: String
        ) async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let sessionConfiguration = URLSessionConfiguration.ephemeral
            sessionConfiguration.httpAdditionalHeaders = configuration.map { ["content-type": $0] }
            var post = put(server.url(), method: "POST")
            post.setValue(request, forHTTPHeaderField: "Content-Type")
            _ = try await URLSessionUploader(configuration: sessionConfiguration).upload(
                MemorySource(Data("abc".utf8), mediaType: source), with: post)
            let received = try #require(await server.requests.values(count: 1).first)
            #expect(received.values(of: "Content-Type") == [expected])
        }

        @Test func progressGoesUpToTheEnd() async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let progress = Recorder<(offset: Int64, count: Int64?)>()
            let source = MemorySource(pattern(200_000))
            _ = try await URLSessionUploader().upload(source, with: put(server.url())) { offset, count in
                progress.append((offset, count))
            }
            let offsets = progress.values.map(\.offset)
            #expect(offsets.last == 200_000)
            #expect(offsets == offsets.sorted())
            #expect(offsets.count >= 4)  // At most 65,524 bytes a read.
            #expect(progress.values.allSatisfy { $0.count == 200_000 })
        }

        @Test func whatCannotBeSentIsRefusedBeforeItIsTried() async throws {
            let source = MemorySource(pattern(1))
            let uploader = URLSessionUploader()
            let nowhere = try #require(URL(string: "ftp://127.0.0.1/x"))
            #expect(
                await uploadError { try await uploader.upload(source, with: put(nowhere)) }?.code == .invalidArgument)
            let server = try HTTPServer()
            defer { server.stop() }
            for method in ["GET", "HEAD"] {
                let request = put(server.url(), method: method)
                #expect(
                    await uploadError { try await uploader.upload(source, with: request) }?.code == .invalidArgument)
            }
            let absent = AbsentSource()
            #expect(await uploadError { try await uploader.upload(absent, with: put(server.url())) }?.code == .notFound)
            #expect(server.requests.values.isEmpty)
        }
    }
}

private struct AbsentSource: BlobInputStreamDataSource {
    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) throws -> BlobInfo { throw BlobError(.notFound, "There is no such thing.") }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { throw BlobError(.notFound, "There is no such thing.") }
}
