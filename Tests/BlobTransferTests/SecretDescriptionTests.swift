import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// What values of uploads and their errors show when they are printed or logged.
@Suite struct SecretDescriptionTests {
    private func shown(_ value: Any) -> String {
        var text = "\(value) \([value]) \(String(reflecting: value))"
        dump(value, to: &text)
        return text
    }

    @Test func aRefusalShowsNothingThatWasSentOrReceived() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(0)
            let head = String(decoding: connection.received, as: UTF8.self).replacing("\r\n", with: " ")
            connection.send(
                "HTTP/1.1 403 No s3cretQuery\r\nSet-Cookie: a=s3cretCookie\r\nContent-Length: \(head.utf8.count)\r\n\r\n\(head)"
            )
        }
        let url = server.url.replacing("http://", with: "http://me:s3cretPassword@") + "?sig=s3cretQuery#s3cretFragment"
        var request = BlobUploadRequest(.put, url, fields: [BlobHTTPField("X-Key", "s3cretField")])
        request.settings.proxy = ""
        let error = await #expect(throws: BlobError.self) {
            _ = try await BlobUploader().upload(MemorySource([]), with: request)
        }
        let refusal = try #require(error?.cause as? BlobUploadRefusal)
        #expect(refusal.response.value(of: "set-cookie") == "a=s3cretCookie")
        #expect(error?.message.hasPrefix("The server answered 403 No ***: PUT /x?*** HTTP/1.1") == true)
        #expect("\(refusal)".contains("403") && "\(refusal)".contains(printable(server.url)))
        for value in [error as Any, refusal, refusal.response, request, request.fields[0]] {
            #expect(!self.shown(value).contains("s3cret"), "\(self.shown(value))")
        }
    }

    private func printable(_ url: String) -> String { url + "?***" }

    @Test func settingsShowNoSecrets() {
        var settings = BlobTransferSettings()
        settings.proxy = "http://a:s3cret@proxy"
        settings.credentials = .init(user: "s3cret", password: "s3cret")
        #expect(!self.shown(settings).contains("s3cret"))
    }

    /// As a server repeats the field that it got.
    @Test(arguments: ["me:s3cret", ":s3cret"]) func theEncodedFormOfAURLsCredentialsIsSecret(credentials: String) {
        let sent = Data(credentials.utf8).base64EncodedString()
        let secrets = SentSecrets(["http://\(credentials)@host/"], [], BlobTransferSettings())
        #expect(secrets.removed(from: "Basic \(sent) s3cret") == "Basic *** ***")
    }

    @Test func aProxyThatIsNotUnderstoodIsNotQuotedWithItsPassword() async throws {
        for proxy in ["socks9://me:s3cretPassword@127.0.0.1:1", "http://me:s3cretPassword@[::1:1"] {
            var request = BlobUploadRequest(.put, "http://127.0.0.1:1/")
            request.settings.proxy = proxy
            let error = await #expect(throws: BlobError.self) {
                _ = try await BlobUploader().upload(MemorySource([]), with: request)
            }
            #expect(error != nil && !"\(error as Any)".contains("s3cret"), "\(error as Any)")
        }
    }
}
