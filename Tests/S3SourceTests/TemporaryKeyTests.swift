import BlobStreamsStandard
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

@testable import S3Source

/// Keys of a container that the store calls expired while objects are read.
@Suite(.timeLimit(.minutes(2))) struct TemporaryKeyTests {
    /// A container that gives other keys each time, and a store that knows a set of their tokens as expired.
    private struct Setting {
        let container: ObjectServer
        let store: VerifyingStore
        /// The tokens that the store refuses.
        let expired = Locked<Set<String>>([])

        init(_ bytes: [UInt8], onRefusal: @escaping @Sendable () -> Void = {}) throws {
            let keys = VerifyingStore.keys
            let container = try ObjectServer([]) { number, _, connection in
                let json =
                    "{\"AccessKeyId\": \"\(keys.identifier)\", \"SecretAccessKey\": \"\(keys.secret)\", "
                    + "\"Token\": \"token-\(number)\", \"Expiration\": \"2999-01-01T00:00:00Z\"}"
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)")
                return true
            }
            let environment = AWSEnvironment {
                ["AWS_CONTAINER_CREDENTIALS_FULL_URI": container.url][$0]
            } file: { _ in
                nil
            }
            self.container = container
            self.store = try VerifyingStore(bytes, keys: AccessKeyProvider(environment) { [:] }) {
                [expired] _, request, connection in
                guard expired.withLock({ $0.contains(request.fields["x-amz-security-token"] ?? "") }) else {
                    return false
                }
                onRefusal()
                connection.send(VerifyingStore.refusal("400 Bad Request", "ExpiredToken"))
                return true
            }
        }

        func expire(_ numbers: Range<Int>) { self.expired.withLock { $0 = Set(numbers.map { "token-\($0)" }) } }
    }

    private let bytes = makeContent(300_000)

    @Test func keysThatExpiredAreReplacedBeforeAndWithinAnObject() async throws {
        let (setting, bytes) = (try Setting(bytes), bytes)
        setting.expire(0..<1)
        try await onThread { () throws in
            let reader = try setting.store.source().open()
            var found = try read(reader)
            // The second one, and the one for digests.
            #expect(setting.container.requests.count == 2 && setting.store.server.requests.count == 3)
            setting.expire(0..<2)
            found += try readAll(reader)
            #expect(found == bytes)
            #expect(setting.container.requests.count == 3 && setting.store.server.requests.count == 5)
            // The new keys are those of the whole store.
            #expect(try setting.store.source("bucket/other").info().byteCount == 300_000)
            #expect(setting.container.requests.count == 3 && setting.store.server.requests.count == 7)
        }
    }

    /// Both requests were made with the same keys before either was refused.
    @Test func readersWhoseKeysExpireTogetherGoOn() async throws {
        let (count, bothCame, bytes) = (Locked(0), Latch(), bytes)
        let setting = try Setting(bytes) {
            let isSecond = count.withLock { count in
                count += 1
                return count == 2
            }
            if isSecond { bothCame.open() }
            bothCame.wait()
        }
        try await onThread { _ = try setting.store.source("bucket/0").info() }
        setting.expire(0..<1)
        try await onThreads(2) { (number) throws in
            #expect(try readAll(setting.store.source("bucket/\(number + 1)").open()) == bytes)
        }
        #expect(setting.container.requests.count <= 3)
    }

    @Test func keysThatNeverHelpAreAnError() async throws {
        let setting = try Setting(bytes)
        setting.expire(0..<100)
        let error = await errorThrown { try await onThread { try setting.store.source().info() } }
        #expect(error?.code == .permissionDenied && error?.isTransient == false)
        #expect(error?.message.contains("ExpiredToken") == true)
        #expect(setting.container.requests.count == 2 && setting.store.server.requests.count == 2)
    }

    @Test func fixedKeysThatExpiredAreAnErrorAtOnce() async throws {
        let store = try VerifyingStore(bytes) { _, _, connection in
            connection.send(VerifyingStore.refusal("400 Bad Request", "ExpiredToken"))
            return true
        }
        #expect(await asyncCodeThrown { try await onThread { try store.source().info() } } == .permissionDenied)
        #expect(store.server.requests.count == 1)
    }
}
