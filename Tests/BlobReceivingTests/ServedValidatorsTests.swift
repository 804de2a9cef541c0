import Testing

@testable import BlobReceiving

/// The conditions of requests (RFC 9110, section 13).
@Suite struct ServedValidatorsTests {
    private static let time: Int64 = 784_111_777  // Sun, 06 Nov 1994 08:49:37 GMT

    private func head(_ fields: [(String, String)]) -> RequestHead {
        RequestHead(method: "GET", target: "/", fields: fields.map { (name: $0.0, value: $0.1) })
    }

    private func validators(_ tag: String? = "\"a\"") -> ServedValidators {
        ServedValidators(tag: tag, modificationTime: Self.time, now: Self.time + 60)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Thu, 26 Nov 2026 20:04:30 GMT", 1_795_723_470),
        ] as [(String, Int64)])
    func datesAreParsedInThreeFormats(text: String, seconds: Int64) throws {
        #expect(HTTPDate(text)?.seconds == seconds)
        #expect(HTTPDate(HTTPDate(seconds: seconds).text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "yesterday", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Thu, 30 Feb 2034 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 06 Nov 99999999999 08:49:37 GMT", "784111777", "Sun, 6x Nov 1994 08:49:37 GMT",
    ])
    func anythingElseIsNoDate(text: String) { #expect(HTTPDate(text) == nil) }

    /// In the order of section 13.2.2: the first two fields fail, the others mean that the client has the content.
    @Test(
        arguments: [
            ([("If-Match", "\"a\"")], .content), ([("If-Match", "\"b\", \"a\"")], .content),
            ([("If-Match", "*")], .content),
            ([("If-Match", "\"b\"")], .preconditionFailed), ([("If-Match", "W/\"a\"")], .preconditionFailed),
            ([("If-Match", "a")], .preconditionFailed), ([("If-None-Match", "\"a\"")], .notModified),
            ([("If-None-Match", "W/\"a\"")], .notModified), ([("If-None-Match", "\"b\",W/\"a\"")], .notModified),
            ([("If-None-Match", "*")], .notModified), ([("If-None-Match", "\"b\"")], .content),
            ([("If-None-Match", "\"b\""), ("If-None-Match", "\"a\"")], .notModified),
            ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], .notModified),
            ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], .content),
            ([("If-Modified-Since", "never")], .content),
            ([("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], .preconditionFailed),
            ([("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], .content),
            // A tag takes precedence over a time.
            ([("If-Match", "\"a\""), ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], .content),
            ([("If-None-Match", "\"b\""), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], .content),
            ([("If-Match", "\"b\""), ("If-None-Match", "\"a\"")], .preconditionFailed),
        ] as [([(String, String)], ServedValidators.Outcome)])
    func conditionsAreEvaluatedInOrder(fields: [(String, String)], outcome: ServedValidators.Outcome) {
        #expect(self.validators().outcome(self.head(fields)) == outcome)
    }

    /// A weak tag identifies content well enough to spare a transfer, but not to continue one.
    @Test func aWeakTagIsOnlyWeaklyEqual() {
        let weak = self.validators("W/\"a\"")
        #expect(weak.outcome(self.head([("If-None-Match", "W/\"a\"")])) == .notModified)
        #expect(weak.outcome(self.head([("If-None-Match", "\"a\"")])) == .notModified)
        #expect(weak.outcome(self.head([("If-Match", "W/\"a\"")])) == .preconditionFailed)
        #expect(!weak.admitsRange(self.head([("If-Range", "W/\"a\"")])))
    }

    @Test(arguments: [
        ("\"a\"", true), ("\"b\"", false), ("W/\"a\"", false), ("a", false), ("\"b\", \"a\"", false),
        ("Sun, 06 Nov 1994 08:49:37 GMT", true), ("Sun, 06 Nov 1994 08:49:36 GMT", false),
        ("Sun, 06 Nov 1994 08:49:38 GMT", false),
    ])
    func aRangeIsOfTheContentThatTheClientHas(value: String, isAdmitted: Bool) {
        #expect(self.validators().admitsRange(self.head([("If-Range", value)])) == isAdmitted)
    }

    @Test func aTimeOfThisSecondIdentifiesNothing() {
        let now = ServedValidators(tag: nil, modificationTime: Self.time, now: Self.time)
        #expect(!now.admitsRange(self.head([("If-Range", "Sun, 06 Nov 1994 08:49:37 GMT")])))
    }
}
