#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob receive` and its answers.
@Suite struct ReceiverTests {
    @Test(arguments: [
        "PUT /x HTTP/1.1\r\nContent-Length: 1\r\n\r\na", "PUT /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\na",
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "hello\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Type: multipart/form-data\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Type: multipart/form-data; boundary=B\r\n\r\n--B",
    ])
    func whatIsNoProperRequestIsRefused(request: String) throws {
        try withReceiver { receiver, port in
            let client = try Client(port)
            client.send(request)
            let answer = client.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            try receiver.expectNothing(port)
        }
    }

    @Test(arguments: [
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
        "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\nContent-Type: multipart/form-data; boundary=B\r\n\r\n"
            + "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--B--\r\n",
    ])
    func aBodyThatIsNotWholeIsNeverReported(request: String) throws {
        try withReceiver { receiver, port in
            for isReset in [false, true] {
                let client = try Client(port)
                client.send(request)
                if isReset { client.reset() } else { client.end() }
                let answer = isReset ? "" : client.receiveAll()
                #expect(!answer.hasPrefix("HTTP/1.1 2"), "\(answer)")
                client.close()
            }
            try receiver.expectNothing(port)
        }
    }

    @Test func sendersThatStallAreClosed() throws {
        try withReceiver("--idle-timeout", "0.3", "--header-timeout", "0.3") { receiver, port in
            for request in ["PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc", "PUT /x HT", ""] {
                let client = try Client(port)
                client.send(request)
                let answer = client.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
            }
            try receiver.expectNothing(port)
        }
    }

    @Test func aLimitHoldsForChunksToo() throws {
        try withReceiver("--max-bytes", "5") { receiver, port in
            for body in ["Content-Length: 6\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n"] {
                let client = try Client(port)
                client.send("PUT /x HTTP/1.1\r\nHost: a\r\n\(body)")
                #expect(client.receiveAll().hasPrefix("HTTP/1.1 413 "))
            }
            try receiver.expectNothing(port)
        }
    }

    @Test func aConnectionServesOneRequestAfterTheOther() throws {
        try withReceiver { receiver, port in
            let client = try Client(port)
            let request = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
            client.send("\(request)\r\nabc\(request)\r\ndef\(request)Connection: close\r\n\r\nghi")
            let answer = client.receiveAll()
            #expect(answer.components(separatedBy: "HTTP/1.1 201 Created").count == 4, "\(answer)")
            receiver.waitForLines(4)
        }
    }

    @Test func aSenderThatAsksIsToldToGoOn() throws {
        try withReceiver { _, port in
            let client = try Client(port)
            client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(client.receiveOnce().hasPrefix("HTTP/1.1 100 Continue\r\n\r\n"))
            client.send("abc")
            #expect(client.receiveOnce().hasPrefix("HTTP/1.1 201 Created\r\n"))
        }
    }

    /// Trying one number after the other would take a minute, and the thread that serves others too.
    @Test func thousandsOfPartsOfOneNameHoldUpNobody() throws {
        try withReceiver { receiver, port in
            let form = try Client(port)
            let part = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"same\"\r\n\r\nx\r\n"
            let body = String(repeating: part, count: 4000) + "--B--\r\n"
            form.send(
                "POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\n"
                    + "Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
            // One for each event loop at least.
            for _ in 0..<16 {
                let other = try Client(port)
                other.send("PUT /y HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\na")
                #expect(other.receiveAll().hasPrefix("HTTP/1.1 201 "))
            }
            receiver.waitForLines(1 + 16 + 4000)
            let answer = form.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 201 "))
            for name in ["same", "same-2", "same-4000"] { #expect(answer.contains("/\(name)\"")) }
        }
    }

    /// More than may wait for the disk, in pieces of all sizes.
    @Test func aLargeBodyArrivesWhole() throws {
        try withReceiver { receiver, port in
            let client = try Client(port)
            client.send("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            var byteCount = 0
            for size in [1, 100, 300_000, 1, 2, 3, 4, 5, 6, 7, 1_000_000, 10_000, 3_000_000, 1] {
                client.send(String(size, radix: 16) + "\r\n" + String(repeating: "a", count: size) + "\r\n")
                byteCount += size
            }
            client.send("0\r\n\r\n")
            #expect(client.receiveOnce().hasPrefix("HTTP/1.1 201 "))
            receiver.waitForLines(2)
            #expect(receiver.lines.last?.contains("\"byte_count\":\(byteCount),") == true)
        }
    }

    @Test func aSenderThatEndsItsDirectionGetsItsAnswer() throws {
        try withReceiver { receiver, port in
            for _ in 0..<20 {
                let client = try Client(port)
                client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
                client.end()
                #expect(client.receiveAll().hasPrefix("HTTP/1.1 201 "))
            }
        }
    }

    @Test func whatDoesNotFitIsAnsweredSo() throws {
        // In blocks of 512 or 1024 bytes. Sanitizers need files too.
        try withReceiver(prelude: "trap '' XFSZ; ulimit -f 2048") { receiver, port in
            let client = try Client(port)
            client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n")
            client.send(String(repeating: "a", count: 3_000_000))
            #expect(client.receiveAll().hasPrefix("HTTP/1.1 507 "))
            try receiver.expectNothing(port)
        }
    }

    @Test func otherMethodsAreNotTaken() throws {
        try withReceiver { _, port in
            for method in ["GET", "DELETE", "PATCH"] {
                let client = try Client(port)
                client.send("\(method) /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(client.receiveAll().hasPrefix("HTTP/1.1 405 "))
            }
        }
    }

    @Test func mistakesHaveTheFormOfAllErrors() throws {
        for arguments in [["--port", "0"], ["--max-bytes", "x"], ["--max-bytes=-1"], ["--listen", "x"]] {
            expect(try Launch(["receive"] + arguments).run(), failsWith: "invalidArgument", 64)
        }
        let version = try Launch("--version").run().text
        expect(try Launch("receive", "--version").run(), prints: version)
        #expect(try Launch("receive", "--help").run().text.contains("USAGE: blob receive"))
    }

    @Test func aRefusalEndsWithOneDot() throws {
        try withReceiver { _, port in
            let outcome = try Launch("cat", "http://127.0.0.1:\(port)/x").run()
            expect(outcome, failsWith: "refused", 76, saying: "are accepted. [")
        }
    }
}
#endif
