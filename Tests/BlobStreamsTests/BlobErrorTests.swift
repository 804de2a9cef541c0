import BlobStreams
import Foundation
import Testing

@Suite struct BlobErrorTests {
    /// The table of design.md: number, name, whether trying again can help.
    private static let table: [(BlobError.Code, Int, String, Bool)] = [
        (.notFound, 1, "notFound", false),
        (.permissionDenied, 2, "permissionDenied", false),
        (.invalidLocator, 3, "invalidLocator", false),
        (.invalidArgument, 4, "invalidArgument", false),
        (.notRegistered, 5, "notRegistered", false),
        (.unsupported, 6, "unsupported", false),
        (.corrupted, 7, "corrupted", false),
        (.truncated, 8, "truncated", false),
        (.checksumMismatch, 9, "checksumMismatch", false),
        (.sizeMismatch, 10, "sizeMismatch", false),
        (.trailingData, 11, "trailingData", false),
        (.encrypted, 12, "encrypted", false),
        (.ambiguousMember, 13, "ambiguousMember", false),
        (.inconsistent, 14, "inconsistent", false),
        (.limitExceeded, 15, "limitExceeded", false),
        (.changed, 16, "changed", true),
        (.timedOut, 17, "timedOut", true),
        (.cancelled, 18, "cancelled", false),
        (.io, 19, "io", false),
        (.unavailable, 20, "unavailable", true),
        (.refused, 21, "refused", false),
        (.closed, 22, "closed", false),
        (.misbehavingPlugin, 23, "misbehavingPlugin", false),
        (.internalError, 24, "internalError", false),
    ]

    @Test func theCodesAreThoseOfTheTable() {
        for (code, number, name, isTransient) in Self.table {
            #expect(code.rawValue == number)
            #expect(code.description == name)
            #expect(code.isTransient == isTransient, "\(name)")
            #expect(BlobError(code, "x").isTransient == isTransient, "\(name)")
        }
        #expect(BlobError.Code.all == Self.table.map(\.0))
        #expect(Self.table.count == 24)
    }

    @Test func aNumberWithoutANameIsUnknown() {
        for number in [Int.min, -1, 0, 25, Int.max] {
            let code = BlobError.Code(rawValue: number)
            #expect(code.description == "unknown")
            #expect(!code.isTransient)
        }
    }

    @Test func theThrowerDecidesWhetherAnErrorIsTransient() {
        #expect(BlobError(.refused, "503", isTransient: true).isTransient)
        #expect(!BlobError(.changed, "for good", isTransient: false).isTransient)
    }

    // MARK: NSError

    @Test func everyCodeCrossesIntoNSErrorByItsNumber() {
        for (code, number, _, _) in Self.table {
            let error = BlobError(code, "What happened.", locator: "mem:x", byteOffset: 7) as NSError
            #expect(error.domain == "BlobStreams")
            #expect(error.code == number)
            #expect(error.localizedDescription == "\(code): What happened. [mem:x] (at byte 7)")
        }
    }

    @Test func theCauseCrossesIntoNSErrorAsTheUnderlyingError() throws {
        let inner = BlobError(.io, "Inner.")
        let outer = BlobError(.corrupted, "Outer.", cause: inner) as NSError
        let underlying = try #require(outer.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.domain == "BlobStreams")
        #expect(underlying.code == 19)
        #expect((BlobError(.io, "Alone.") as NSError).userInfo[NSUnderlyingErrorKey] == nil)
    }

    @Test func anNSErrorThatWasABlobErrorKeepsItsCode() {
        let crossed = NSError(
            domain: "BlobStreams", code: 16, userInfo: [NSLocalizedDescriptionKey: "changed: Another file."])
        let error = BlobError(wrapping: crossed)
        #expect(error.code == .changed)
        #expect(error.isTransient)
        #expect(error.message.contains("Another file."))
        #expect(BlobError(wrapping: BlobError(.encrypted, "Locked.") as NSError).code == .encrypted)
    }

    // MARK: Wrapping

    @Test func wrappingABlobErrorGivesThatError() {
        var error = BlobError(.truncated, "Early.", operation: "read", locator: "mem:x", byteOffset: 3)
        error.layers = ["A", "B"]
        #expect(BlobError(wrapping: error) == error)
    }

    @Test func aCancelledTaskIsCancelled() {
        let error = BlobError(wrapping: CancellationError())
        #expect(error.code == .cancelled)
        #expect(error.cause is CancellationError)
    }

    @Test func anErrnoGetsItsCodeAndIsKept() {
        let table: [(POSIXErrorCode, BlobError.Code, isTransient: Bool)] = [
            (.ENOENT, .notFound, false), (.ENOTDIR, .notFound, false),
            (.EACCES, .permissionDenied, false), (.EPERM, .permissionDenied, false),
            (.EROFS, .permissionDenied, false),
            (.ECANCELED, .cancelled, false), (.ETIMEDOUT, .timedOut, true),
            (.EINVAL, .io, false), (.ENAMETOOLONG, .invalidArgument, false),
            (.EIO, .io, false), (.ENOSPC, .io, false), (.EBADF, .io, false), (.EISDIR, .io, false),
            (.EMFILE, .io, true), (.ENFILE, .io, true), (.ENOMEM, .io, true), (.EAGAIN, .io, true),
            (.EBUSY, .io, true), (.EINTR, .io, true), (.ENOBUFS, .io, true),
        ]
        for (number, code, isTransient) in table {
            let foreign: [any Error] = [
                POSIXError(number), NSError(domain: NSPOSIXErrorDomain, code: Int(number.rawValue)),
            ]
            let errors =
                foreign.map(BlobError.init(wrapping:)) + [BlobError(systemError: number.rawValue, doing: "Could not x")]
            for error in errors {
                #expect(error.code == code, "\(number)")
                #expect(error.isTransient == isTransient, "\(number)")
                #expect(error.systemErrorNumber == number.rawValue)
                #expect(error.message.contains(String(cString: strerror(number.rawValue))))
            }
            #expect(errors[0].cause is POSIXError)
        }
    }

    @Test func cocoaFileErrorsGetTheCodeOfWhatHappened() {
        #expect(BlobError(wrapping: CocoaError(.fileReadNoSuchFile)).code == .notFound)
        #expect(BlobError(wrapping: CocoaError(.fileReadNoPermission)).code == .permissionDenied)
        #expect(BlobError(wrapping: CocoaError(.fileReadCorruptFile)).code == .io)
        #expect {
            do {
                _ = try Data(contentsOf: URL(fileURLWithPath: "/no such folder/x"))
            } catch {
                throw BlobError(wrapping: error)
            }
        } throws: {
            ($0 as? BlobError)?.code == .notFound
        }
    }

    @Test func anyOtherErrorIsWrappedOnceWithItselfAsTheCause() throws {
        struct Foreign: Error { let number: Int }
        let error = BlobError(wrapping: Foreign(number: 42))
        #expect(error.code == .io)
        #expect(!error.isTransient)
        #expect((error.cause as? Foreign)?.number == 42)
        #expect(BlobError(wrapping: error).cause is Foreign)

        let named = BlobError(
            wrapping: NSError(domain: "Elsewhere", code: 12, userInfo: [NSLocalizedDescriptionKey: "No luck"]))
        #expect(named.message == "No luck (Elsewhere 12)")
    }

    /// A struct or a case of others may have a URL in it, with a signature.
    @Test func theValuesInAForeignErrorAreNotShown() {
        struct Refused: Error { let url = "http://h/?s3cret" }
        enum Failed: Error { case halfway, at(url: String) }
        for (error, name) in [
            (Refused() as any Error, "Refused"), (Failed.at(url: "s3cret"), "Failed.at"),
            (Failed.halfway, "Failed.halfway"),
        ] {
            let message = BlobError(wrapping: error).message
            #expect(message.hasPrefix("\(name) (") && !message.contains("s3cret"), "\(message)")
        }
    }

    @Test func theLocatorOfAnErrorHasNoSecretsHoweverItIsSet() {
        var error = BlobError(.io, "Broken.", locator: "https://me:s3cret@h/x?s3cret#a")
        #expect(error.locator == "https://***@h/x?***#a")
        error.locator = "zip+https://s3cret@h?s3cret"
        #expect(error.locator == "zip+https://***@h?***")
        error.locator = "/tmp/a@b?c"
        #expect(error.locator == "/tmp/a@b?c")
    }

    /// What the platform makes of such an error is "The operation could not be completed. (Odd error 1.)".
    @Test func aForeignErrorThatSpeaksForItselfIsQuoted() {
        struct Odd: Error, CustomStringConvertible { var description: String { "The disc is upside down." } }
        struct Localized: LocalizedError, CustomStringConvertible {
            let errorDescription: String?
            var description: String { "For the log." }
        }
        #expect(BlobError(wrapping: Odd()).message == "The disc is upside down.")
        #expect(BlobError(wrapping: Odd()).cause is Odd)
        #expect(BlobError(wrapping: Localized(errorDescription: "Turn it.")).message == "Turn it.")
        #expect(BlobError(wrapping: Localized(errorDescription: nil)).message == "For the log.")
        #expect(BlobError(wrapping: Localized(errorDescription: "")).message == "For the log.")
    }

    /// Their `description` is for debugging: "Error Domain=… Code=…".
    @Test func errorsOfFoundationSayWhatTheyAreLocalizedTo() {
        for error in [CocoaError(.fileReadCorruptFile), NSError(domain: "Elsewhere", code: 12)] as [any Error] {
            let text = (error as NSError).localizedDescription
            #expect(BlobError(wrapping: error).message.hasPrefix(text))
        }
    }

    // MARK: Description

    @Test func theDescriptionSaysWhatToWhatAndWhere() {
        #expect(BlobError(.notFound, "No such file.").description == "notFound: No such file.")
        #expect(
            BlobError(.notFound, "No such file.", locator: "file:///x").description
                == "notFound: No such file. [file:///x]")
        #expect(
            BlobError(.corrupted, "Bad block.", locator: "file:///x", byteOffset: 0).description
                == "corrupted: Bad block. [file:///x] (at byte 0)")
    }

    @Test func aLocatorThatTheMessageNamesIsNotRepeated() {
        let error = BlobError(.notFound, "There is no file:///x.", locator: "file:///x")
        #expect(error.description == "notFound: There is no file:///x.")
    }

    @Test func theDescriptionIsOneLineWithoutControlCharacters() {
        let error = BlobError(.corrupted, "a\nb\r\nc\u{0}\u{1B}[31m\u{7F}\u{85}\u{2028}\u{2029}\u{202E}z é 漢 🦊")
        #expect(
            error.description
                == #"corrupted: a\nb\r\nc\0\u{1B}[31m\u{7F}\u{0085}\u{2028}\u{2029}\u{202E}z é 漢 🦊"#)
        #expect(error.localizedDescription == error.description)
        let everyControl = String(String.UnicodeScalarView((0...0x9F).compactMap(Unicode.Scalar.init)))
        let escaped = BlobError(.io, everyControl, locator: "a\nb").description
        #expect(escaped.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    }

    // MARK: Context

    @Test func layersFillInWhatTheThrowerLeftOut() throws {
        let failing = ClosureSource { _, _, _ in throw BlobError(.corrupted, "Broken.") }
        let source = ConcatenatedSource([MemorySource([1, 2, 3]), failing]).slice(1...)
        let error = try #require(throws: BlobError.self) { try source.data(upTo: 10) }
        #expect(error.code == .corrupted)
        #expect(error.operation == "read")
        #expect(error.byteOffset == 0)
        #expect(error.locator == nil)
        #expect(error.layers == ["SliceSource", "ConcatenatedSource", "ClosureSource"])
    }

    @Test func layersLeaveAloneWhatTheThrowerSaid() throws {
        let failing = ClosureSource { _, _, _ in
            throw BlobError(.refused, "No.", operation: "info", locator: "far:away", byteOffset: 99, isTransient: true)
        }
        let error = try #require(throws: BlobError.self) { try failing.slice(0...).data(upTo: 10) }
        #expect(error.operation == "info")
        #expect(error.locator == "far:away")
        #expect(error.byteOffset == 99)
        #expect(error.isTransient)
        #expect(error.layers == ["SliceSource", "ClosureSource"])
    }

    @Test func equalityLooksAtEverythingButTheCause() {
        let error = BlobError(.io, "x", operation: "read", locator: "a:", byteOffset: 1)
        let cause = CancellationError()
        #expect(error == BlobError(.io, "x", operation: "read", locator: "a:", byteOffset: 1, cause: cause))
        #expect(error != BlobError(.io, "x", operation: "read", locator: "a:", byteOffset: 2))
        #expect(error != BlobError(.io, "y", operation: "read", locator: "a:", byteOffset: 1))
        #expect(error != BlobError(.corrupted, "x", operation: "read", locator: "a:", byteOffset: 1))
        #expect(error != BlobError(.io, "x", operation: "open", locator: "a:", byteOffset: 1))
    }
}
