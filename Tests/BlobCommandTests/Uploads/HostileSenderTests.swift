#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob receive` and senders that are hostile: it ends each of them, and serves all others meanwhile.
@Suite struct HostileSenderTests {
    private static let head = "PUT /x HTTP/1.1\r\nHost: a\r\n"

    /// What other servers take, or take in two ways.
    @Test(arguments: [
        ("Content-Length: 1\n\na", "400"), ("A: b\r\n c\r\nContent-Length: 1\r\n\r\na", "400"),
        ("A: b\0c\r\nContent-Length: 1\r\n\r\na", "400"), ("Content-Length: 1, 1\r\n\r\na", "400"),
        ("Content-Length: 18446744073709551617\r\n\r\na", "400"), ("Content-Length: -1\r\n\r\na", "400"),
        ("Content-Length: 0x1\r\n\r\na", "400"), ("Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n", "400"),
        ("Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\na\r\n", "400"),
        ("Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", "400"),
        ("Transfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "501"),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "501"),
        ("Transfer-Encoding: chunked, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "400"),
        ("Transfer-Encoding: chunked, gzip\r\n\r\n1\r\na\r\n0\r\n\r\n", "400"),
        ("Content-Length: 68719476737\r\n\r\n", "413"), ("Content-Length: 9223372036854775808\r\n\r\n", "413"),
    ])
    func aHostileHeadIsRefused(rest: String, status: String) throws {
        try withReceiver { receiver, port in
            let client = try Client(port)
            client.send(Self.head + rest)
            let answer = client.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            try receiver.expectNothing(port)
        }
    }

    /// A million lines, 64 MB in one line, and 64 MB of a path; sent as far as the receiver takes them.
    @Test func anEndlessHeadIsRefused() throws {
        try withReceiver { receiver, port in
            let long = String(repeating: "a", count: 64 << 20)
            for request in [
                Self.head + String(repeating: "A: b\r\n", count: 1_000_000) + "\r\n", Self.head + "A: \(long)\r\n\r\n",
                "PUT /\(long) HTTP/1.1\r\nHost: a\r\n\r\n",
            ] {
                let client = try Client(port)
                client.send(request)
                let answer = client.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 4"), "\(answer.prefix(100))")
            }
            try receiver.expectNothing(port)
        }
    }

    @Test func aSlowSenderIsEnded() throws {
        for (request, message) in [
            (Self.head + "Content-Length: 1000000\r\n\r\n", "The body arrived at fewer than 1000 bytes per second."),
            // Bytes that are none of the body do not count.
            (Self.head + "Transfer-Encoding: chunked\r\n\r\n1;", "No bytes of the body arrived in time."),
            (Self.head + "A: ", "No complete header arrived in time."),
        ] {
            try withReceiver(
                "--idle-timeout", "1", "--header-timeout", "1", "--min-rate", "1000"
            ) { receiver, port in
                let client = try Client(port)
                client.send(request)
                // Not for ever, if it is not ended.
                for _ in 0..<500 where !client.hasAnswer(within: 20) { client.send("a") }
                let answer = client.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains(message), "\(answer)")
                try receiver.expectNothing(port)
            }
        }
    }

    @Test func aSenderThatIsFastEnoughIsNot() throws {
        try withReceiver("--idle-timeout", "0.5", "--min-rate", "1") { _, port in
            let client = try Client(port)
            client.send(Self.head + "Content-Length: 60\r\nConnection: close\r\n\r\n")
            // More than two spans.
            for _ in 0..<60 {
                #expect(!client.hasAnswer(within: 20))
                client.send("a")
            }
            #expect(client.receiveAll().hasPrefix("HTTP/1.1 201 "))
        }
    }

    @Test func aRefusalWaitsForASenderThatReadsItLate() throws {
        try withReceiver("--max-bytes", "5") { _, port in
            let client = try Client(port)
            client.send(Self.head + "Content-Length: 50000000\r\n\r\n")
            client.send(String(repeating: "a", count: 49_000_000))
            #expect(client.hasAnswer(within: 10_000))
            let other = try Client(port)
            for _ in 0..<30 {
                client.send("a")
                #expect(!other.hasAnswer(within: 100))
            }
            #expect(client.receiveAll().hasPrefix("HTTP/1.1 413 "))
        }
    }

    /// A GET request may announce a body, as far as the parser is concerned.
    @Test func theBodyOfAQuestionIsNotWaitedForOrKept() throws {
        try withReceiver("--idle-timeout", "0.5", "--max-bytes", "1000") { receiver, port in
            let head = "GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 300000000\r\n\r\n"
            let silent = try Client(port)
            silent.send(head)
            #expect(silent.receiveAll().hasPrefix("HTTP/1.1 408 "))
            let before = receiver.residentByteCount
            let client = try Client(port)
            client.send(head)
            for _ in 0..<100 where client.send(String(repeating: "a", count: 1 << 20)) {}
            #expect(client.receiveAll().hasPrefix("HTTP/1.1 400 "))
            #expect(receiver.residentByteCount - before < 16 << 20)
            try receiver.expectNothing(port)
        }
    }

    /// Only a sender whose bytes are unread needs time to read its refusal.
    @Test func aConnectionThatSentNothingDoesNotLinger() throws {
        try withReceiver("--header-timeout", "0.2", "--max-connections", "1") { receiver, port in
            let start = ContinuousClock.now
            let silent = try Client(port)
            #expect(silent.receiveAll().hasPrefix("HTTP/1.1 408 "))
            receiver.wait {
                guard let next = try? Client(port) else { return false }
                next.send(Self.head + "Content-Length: 1\r\nConnection: close\r\n\r\na")
                return next.receiveAll().hasPrefix("HTTP/1.1 201 ")
            }
            #expect(start.duration(to: .now) < .seconds(20), "The time for a late reader is 30 seconds.")
        }
    }

    @Test func chunksOfOneByteTakeLittleMemory() throws {
        try withReceiver { receiver, port in
            let before = receiver.residentByteCount
            let client = try Client(port)
            client.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n")
            let chunks = String(repeating: "1\r\na\r\n", count: 10_000)
            for _ in 0..<100 { client.send(chunks) }
            client.send("0\r\n\r\n")
            #expect(client.receiveOnce().contains("\"byte_count\":1000000,"))
            let growth = receiver.residentByteCount - before
            #expect(growth < 32 << 20, "\(growth) bytes")
        }
    }

    @Test func connectionsBeyondTheLimitAreToldSo() throws {
        try withReceiver("--max-connections", "2") { receiver, port in
            let idle = try (0..<2).map { _ in try Client(port) }
            for client in idle {
                client.send(Self.head + "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n")
                #expect(client.receiveOnce().hasPrefix("HTTP/1.1 100 "))
            }
            let third = try Client(port)
            third.send(Self.head + "Content-Length: 1\r\n\r\na")
            let answer = third.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.hasSuffix("wait."), "\(answer)")
            third.close()
            idle[0].close()
            receiver.wait {
                guard let next = try? Client(port) else { return false }
                next.send(Self.head + "Content-Length: 1\r\nConnection: close\r\n\r\na")
                return next.receiveAll().hasPrefix("HTTP/1.1 201 ")
            }
        }
    }

    /// 200 connections, each of which has sent a request, as some have that are slow: not 256 KiB each, as much as a
    /// large read takes.
    @Test func aSmallReadTakesLittleMemory() throws {
        try withReceiver { receiver, port in
            let before = receiver.residentByteCount
            let clients = try (0..<200).map { _ in try Client(port) }
            for client in clients {
                client.send(Self.head + "Content-Length: 1\r\n\r\na")
                #expect(client.receiveOnce().hasPrefix("HTTP/1.1 201 "))
            }
            let growth = receiver.residentByteCount - before
            #expect(growth < 200 * 100_000, "\(growth) bytes")
        }
    }

    /// The system drops connections that nobody accepts, beyond a number.
    @Test func manyConnectionsAtOnceWait() throws {
        try withReceiver { receiver, port in
            receiver.send(SIGSTOP)
            let clients = try (0..<400).map { _ in try Client(port, connectingWithin: 5) }
            receiver.send(SIGCONT)
            let last = try #require(clients.last)
            last.send(Self.head + "Content-Length: 1\r\n\r\na")
            #expect(last.receiveOnce().hasPrefix("HTTP/1.1 201 "))
        }
    }

    /// More lines than fit into a pipe.
    @Test func outputThatNobodyReadsStopsNothing() throws {
        try withReceiver { receiver, port in
            let part = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n"
            let body = String(repeating: part, count: 600) + "--B--\r\n"
            let form = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\n"
            for _ in 0..<4 {
                let client = try Client(port)
                client.send("\(form)Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                #expect(client.receiveAll().hasPrefix("HTTP/1.1 201 "))
            }
            receiver.waitForLines(1 + 4 * 600)
        }
    }

    /// What takes more than one turn of the event loop arrives whole and in order, the end of the sender included.
    @Test func manyChunksAndRequestsAtOnceAreTakenInOrder() throws {
        try withReceiver { _, port in
            let client = try Client(port)
            let chunks = String(repeating: "1\r\na\r\n", count: 20_000) + "0\r\n\r\n"
            let small = Self.head + "Content-Length: 1\r\n\r\na"
            client.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n" + chunks)
            client.send(String(repeating: small, count: 100))
            client.end()
            let answers = client.receiveAll().components(separatedBy: "HTTP/1.1 ")
            try #require(answers.count == 102)
            #expect(answers.dropFirst().allSatisfy { $0.hasPrefix("201 ") })
            #expect(answers[1].contains("\"byte_count\":20000") && answers[2].contains("\"byte_count\":1,"))
        }
    }

    /// A sender of requests that never reads an answer is not read from either, beyond what the system buffers.
    @Test func answersThatNobodyReadsDoNotPileUp() throws {
        try withReceiver { _, port in
            let client = try Client(port)
            client.limitSending(to: 1)
            let requests = String(repeating: "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", count: 100_000)
            #expect((0..<20).contains { _ in !client.send(requests) })
        }
    }
}
#endif
