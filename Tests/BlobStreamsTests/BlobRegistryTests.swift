import BlobStreams
import Foundation
import Testing

@testable import BlobCore

@Suite struct BlobRegistryTests {
    // MARK: Registering

    @Test func aProviderSaysThatItsSourcesReachTheNetwork() throws {
        var registry = BlobRegistry()
        let make: @Sendable (BlobLocator, BlobContext) throws -> any BlobInputStreamDataSource = { _, _ in
            MemorySource([])
        }
        try registry.register(BlobProvider(.origin(make), schemes: ["far", "far+away"], reachesNetwork: true))
        try registry.register(BlobProvider(.origin(make), schemes: ["near"]))
        try registry.register(BlobProvider(.filter { source, _ in source }, schemes: ["plain"]))
        for (text, isFar) in [
            ("far:x", true), ("plain+far:x", true), ("archive+plain+FAR:x#a", true), ("far+away:x", true),
            ("plain+far+away:x#@0", true), ("near:x", false), ("plain+near:x#far", false), ("none+far:x", false),
        ] {
            #expect(registry.reachesNetwork(try BlobLocator(text)) == isFar, "\(text)")
        }
    }

    @Test func anEmptyRegistryKnowsNothing() throws {
        let error = try #require(throws: BlobError.self) { try BlobRegistry().source(for: "file:///x") }
        #expect(error.code == .notRegistered)
        #expect(error.message.contains("'file'"))
        #expect(error.message.contains("Add the product FileSource, and register FileSource.provider."))
        #expect(BlobRegistry().providers.isEmpty)
    }

    @Test func aDuplicateIsRefusedUnlessItReplaces() throws {
        var registry = try toyRegistry()
        let count = registry.providers.count
        let error = try #require(throws: BlobError.self) { try registry.register(origin("mem", ["x": [9]])) }
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains("'mem'"))
        #expect(registry.providers.count == count)

        try registry.register(origin("mem", ["x": [9]]), replacing: true)
        #expect(try bytes(registry, "mem:x") == [9])
        #expect(registry.providers.count == count)
    }

    @Test func aProviderKeepsTheSchemesThatWereNotReplaced() throws {
        var registry = BlobRegistry()
        var two = origin("one", ["x": [1]])
        two.schemes = ["one", "two"]
        try registry.register(two)
        try registry.register(origin("two", ["x": [2]]), replacing: true)
        #expect(try bytes(registry, "one:x") == [1])
        #expect(try bytes(registry, "two:x") == [2])
        #expect(registry.providers.map(\.schemes) == [["one"], ["two"]])
    }

    @Test func aDuplicateAmongSeveralSchemesRegistersNone() throws {
        var registry = try toyRegistry()
        var provider = origin("fresh", [:])
        provider.schemes = ["fresh", "mem"]
        #expect(throws: BlobError.self) { try registry.register(provider) }
        #expect(registry.provider(for: "fresh") == nil)
    }

    @Test func whatIsNoSchemeCannotBeRegistered() throws {
        for scheme in ["", "Mem", "1a", "a b", "a:", "a:b", "a/", "é", "+a", "a+", "archive"] {
            var registry = BlobRegistry()
            let error = try #require(throws: BlobError.self, "\(scheme)") {
                try registry.register(origin(scheme, [:]))
            }
            #expect(error.code == .invalidArgument)
            #expect(registry.providers.isEmpty)
        }
    }

    @Test func aRegistryIsAValue() throws {
        let original = try toyRegistry()
        var copy = original
        try copy.register(origin("more", ["x": [1]]))
        #expect(try bytes(copy, "more:x") == [1])
        #expect(original.provider(for: "more") == nil)
        let error = try #require(throws: BlobError.self) { try original.source(for: "more:x") }
        #expect(error.code == .notRegistered)
    }

    @Test func aSchemeThatIsNotRegisteredNamesItsProductOrListsOthers() throws {
        let registry = try toyRegistry()
        for (locator, advice) in [
            ("gzip+mem:x", "product GzipSource,"), ("zip+mem:x#a", "product ArchiveSource,"),
            ("file:///x", "product FileSource,"), ("assets-library://asset/a", "product AssetLibrarySource,"),
            ("toy+xor+gzip+mem:x#a", "product GzipSource,"), ("nosuch:x", "Registered: mem, once."),
            ("nosuch+mem:x", "Registered: toy, xor."),
        ] {
            let error = try #require(throws: BlobError.self) { try registry.source(for: locator) }
            #expect(error.code == .notRegistered)
            #expect(error.message.contains(advice), "\(error)")
            #expect(error.operation == "resolve")
        }
    }

    // MARK: Schemes

    @Test func aRegisteredWholeSchemeWinsBeforeSplitting() throws {
        var registry = try toyRegistry()
        try registry.register(origin("svn+ssh", ["x": [1]]))
        #expect(try bytes(registry, "svn+ssh:x") == [1])
        #expect(try bytes(registry, "xor+svn+ssh:x2") == [])
        try registry.register(filter("svn"))
        try registry.register(origin("ssh", ["x": [2]]))
        #expect(try bytes(registry, "svn+ssh:x") == [1])
        #expect(try bytes(registry, "xor+svn+ssh:x2") == [])
        try registry.register(origin("xor+mem", ["x": [3]]))
        #expect(try bytes(registry, "xor+mem:x") == [3])
    }

    @Test func anOriginGetsItsOwnLocatorWithoutWrappersAndSelectors() throws {
        let seen = Locked<[String]>([])
        var registry = try toyRegistry()
        try registry.register(
            BlobProvider(
                .origin { locator, _ in
                    seen.withLock { $0.append(locator.text) }
                    return MemorySource(toy([("a", [1])]))
                }, schemes: ["seen"]))
        #expect(try bytes(registry, "toy+seen://u:p@h/x?q#a") == [1])
        #expect(seen.withLock { $0 } == ["seen://u:p@h/x?q"])
    }

    @Test func anOriginCannotWrapAndAFilterCannotBeABase() throws {
        let registry = try toyRegistry()
        let wrapping = try #require(throws: BlobError.self) { try registry.source(for: "mem+mem:x") }
        #expect(wrapping.code == .invalidLocator)
        for base in ["xor:x", "toy:x", "xor+xor:x", "archive:x"] {
            let error = try #require(throws: BlobError.self) { try registry.source(for: base) }
            #expect(error.code == .invalidLocator)
        }
    }

    // MARK: Chains

    @Test func filtersAndContainersNest() throws {
        let inner = toy([("deep", Array("found".utf8)), ("@odd!", [7])])
        let registry = try toyRegistry([
            "plain": [1, 2, 3],
            "filtered": xor([1, 2, 3]),
            "twice": xor(xor([1, 2, 3])),
            "toy": toy([("a", [1]), ("b", [2, 3])]),
            "nested": xor(toy([("in.toy", inner), ("in.toy.xor", xor(inner))])),
        ])
        #expect(try bytes(registry, "mem:plain") == [1, 2, 3])
        #expect(try bytes(registry, "xor+mem:filtered") == [1, 2, 3])
        #expect(try bytes(registry, "xor+xor+mem:twice") == [1, 2, 3])
        #expect(try bytes(registry, "toy+mem:toy#b") == [2, 3])
        #expect(try bytes(registry, "toy+mem:toy#@1") == [2, 3])
        #expect(try bytes(registry, "toy+toy+xor+mem:nested#in.toy!/deep") == Array("found".utf8))
        #expect(try bytes(registry, "toy+xor+toy+xor+mem:nested#in.toy.xor!/deep") == Array("found".utf8))
        #expect(try bytes(registry, "toy+toy+xor+mem:nested#in.toy!/%40odd%21") == [7])
    }

    @Test func containersAndTheFiltersAroundThemAreFoundBySignature() throws {
        let inner = xor(xor(toy([("deep", [42])])))
        let registry = try toyRegistry([
            "any": xor(toy([("in", inner), ("plain", [1])])), "noise": [0, 1, 2, 3, 4, 5],
        ])
        #expect(try bytes(registry, "archive+mem:any#plain") == [1])
        #expect(try bytes(registry, "archive+mem:any#in!/deep") == [42])
        #expect(try bytes(registry, "archive+archive+mem:any#in!/deep") == [42])
        // Beyond the named container by signature; a base of its own is asked for its container in the same way.
        #expect(try bytes(registry, "toy+xor+mem:any#in!/@0") == [42])
        #expect(try bytes(registry, "mem:any#in!/deep") == [42])

        let error = try #require(throws: BlobError.self) { try registry.source(for: "archive+mem:noise#x") }
        #expect(error.code == .unsupported)
        #expect(error.message.contains("toy"))
    }

    @Test func eightContainersDeepIsTheLimit() throws {
        var content = toy([("x", [1])])
        for _ in 1..<8 { content = toy([("x", content)]) }
        let registry = try toyRegistry(["eight": content])
        let eight = "mem:eight#" + Array(repeating: "x", count: 8).joined(separator: "!/")
        #expect(try bytes(registry, eight) == [1])
        #expect(try bytes(registry, "toy+toy+toy+" + eight) == [1])

        let nine = try BlobLocator(eight).selecting(.name("x"))
        let error = try #require(throws: BlobError.self) { try registry.source(for: nine) }
        #expect(error.code == .limitExceeded)
        #expect(error.message.contains("8"))
        #expect(error.message.contains("9"))
        // As text it is refused before it is parsed, whatever its length.
        for more in ["!/x", String(repeating: "!/x", count: 100_000)] {
            let error = try #require(throws: BlobError.self) { try registry.source(for: eight + more) }
            #expect(error.code == .invalidLocator && error.byteOffset == 9)
            #expect(error.message.contains("8") && error.message.utf8.count < 2000)
        }
    }

    @Test func moreThanEightFiltersAroundAContainerAreTooMany() throws {
        var content = toy([("x", [1])])
        for _ in 0..<7 { content = xor(content) }
        let registry = try toyRegistry(["seven": content, "many": xor(xor(xor(content)))])
        #expect(try bytes(registry, "mem:seven#x") == [1])
        let error = try #require(throws: BlobError.self) { try registry.source(for: "mem:many#x") }
        #expect(error.code == .limitExceeded)
    }

    @Test func aTowerOfWrappersIsRefusedBeforeItIsBuilt() throws {
        var content: [UInt8] = [1]
        for _ in 0..<16 { content = xor(content) }
        let registry = try toyRegistry(["x": content])
        #expect(try bytes(registry, String(repeating: "xor+", count: 16) + "mem:x") == [1])
        for count in [17, 1000, 50000] {
            let locator = String(repeating: "xor+", count: count) + "mem:x"
            let error = try #require(throws: BlobError.self) { try registry.source(for: locator) }
            #expect(error.code == .limitExceeded)
        }
    }

    @Test func aContainerWithoutASelectorIsNoSource() throws {
        let registry = try toyRegistry(["toy": toy([("in", toy([("a", [1])]))])])
        for locator in ["toy+mem:toy", "toy+toy+mem:toy#in", "archive+mem:toy", "xor+toy+mem:toy", "toy+toy+mem:toy"] {
            let error = try #require(throws: BlobError.self) { try registry.source(for: locator) }
            #expect(error.code == .invalidLocator, "\(locator)")
            #expect(error.locator == locator)
        }
    }

    @Test func aContainerIsGivenForListing() throws {
        let registry = try toyRegistry([
            "toy": toy([("in", xor(toy([("a", [1])])))]), "plain": [1, 2, 3],
        ])
        for locator in ["toy+mem:toy#in", "toy+xor+toy+mem:toy#in", "mem:toy#in", "archive+archive+mem:toy#in"] {
            let container = try registry.container(for: BlobLocator(locator))
            #expect(try container.member(.name("a"), context: BlobContext()).data(upTo: 9) == Data([1]), "\(locator)")
        }
        let error = try #require(throws: BlobError.self) { try registry.container(for: BlobLocator("mem:plain")) }
        #expect(error.code == .unsupported)
        #expect(error.locator == "mem:plain")
        #expect(error.layers.first == "BlobRegistry")
    }

    @Test func membersAreListedInTheirOrderUntilTheCallerHasEnough() throws {
        let registry = try toyRegistry(["toy": toy([("a", [1]), ("b", [2, 3]), ("a", [])])])
        let container = try registry.container(for: BlobLocator("mem:toy"))
        var members: [BlobMember] = []
        try container.forEachMember(BlobContext()) {
            members.append($0)
            return members.count < 2
        }
        #expect(members.map(\.printableName) == ["a", "b"])
        #expect(members.map(\.byteCount) == [1, 2])
        #expect(members.map(\.index) == [0, 1])
    }

    @Test func whatNoSignatureMatchesIsRecognisedByItsContentBeforeItsName() throws {
        var registry = try toyRegistry(["sum": [2, 4, 6], "x.toy": [2, 4, 7], "long": toy([("a", [1])])])
        try registry.register(
            BlobProvider(
                .filter { base, _ in base }, schemes: ["even"], fileExtensions: ["sum"],
                recognizes: { $0.count == 3 && $0.allSatisfy { $0 & 1 == 0 } }))
        #expect(try registry.identify(registry.source(for: "mem:sum")).provider?.schemes == ["even"])
        #expect(try registry.identify(registry.source(for: "mem:x.toy")).provider?.schemes == ["toy"])
        #expect(try registry.identify(registry.source(for: "mem:long")).provider?.schemes == ["toy"])
    }

    @Test(arguments: [
        ("plain name é/x", "plain name é/x"), ("a%b!c#d@e", "a%25b%21c%23d@e"), ("@1", "%401"),
        ("a\nb\u{7F}", "a%0Ab%7F"),
        ("\u{85}\u{2028}\u{202E}", "%C2%85%E2%80%A8%E2%80%AE"), ("", ""),
    ])
    func namesOfMembersArePrintedOnOneLine(name: String, printed: String) {
        #expect(BlobMember(index: 0, name: Array(name.utf8)).printableName == printed)
    }

    @Test func aNameThatIsNoUTF8IsPrintedInItsBytes() {
        let name: [UInt8] = [0x61, 0xFF, 0xC3, 0xA9, 0xED, 0xA0, 0x80, 0xC3]
        #expect(BlobMember(index: 0, name: name).printableName == "a%FFé%ED%A0%80%C3")
    }

    @Test func errorsOfTheChainTellTheWholeLocator() throws {
        let registry = try toyRegistry(["toy": toy([("a", [1])])])
        let error = try #require(throws: BlobError.self) { try registry.source(for: "toy+mem:toy#b") }
        #expect(error.code == .notFound)
        #expect(error.operation == "resolve")
        #expect(error.locator == "toy+mem:toy#b")
        #expect(error.layers.first == "BlobRegistry")
        let missing = try #require(throws: BlobError.self) { try registry.source(for: "mem:nosuch") }
        #expect(missing.code == .notFound)
        #expect(missing.locator == "mem:nosuch")
    }

    @Test func aCancelledContextStopsTheResolving() throws {
        let registry = try toyRegistry(["toy": toy([("a", [1])])])
        let context = BlobContext()
        context.cancellation.cancel()
        let error = try #require(throws: BlobError.self) {
            try registry.source(for: "archive+mem:toy#a", context: context)
        }
        #expect(error.code == .cancelled)
    }

    // MARK: Identifying

    @Test func theLongestSignatureWins() throws {
        var registry = BlobRegistry()
        try registry.register(filter("short", [BlobSignature([1, 2])]))
        try registry.register(filter("long", [BlobSignature([1, 2, 3]), BlobSignature([9])]))
        try registry.register(filter("late", [BlobSignature([1, 2, 3])]))
        try registry.register(filter("far", [BlobSignature([5, 5, 5, 5], at: 300)]))
        func scheme(_ bytes: [UInt8]) throws -> String? {
            try registry.identify(MemorySource(bytes)).provider?.schemes.first
        }
        for _ in 0..<20 {
            #expect(try scheme([1, 2, 3, 4]) == "long")
            #expect(try scheme([1, 2, 4]) == "short")
            #expect(try scheme([9]) == "long")
            #expect(try scheme([1]) == nil)
            #expect(try scheme([]) == nil)
            #expect(try scheme([1, 2, 3] + Array(repeating: 0, count: 297) + [5, 5, 5, 5]) == "far")
            #expect(try scheme([1, 2, 3] + Array(repeating: 0, count: 297) + [5, 5, 5]) == "long")
        }
    }

    @Test func theMediaTypeComesBeforeTheExtensionAndAfterTheSignature() throws {
        var registry = BlobRegistry()
        try registry.register(
            BlobProvider(
                .filter { base, _ in base }, schemes: ["gz"], mediaTypes: ["application/gzip"], fileExtensions: ["gz"],
                signatures: [BlobSignature([0x1F])]))
        try registry.register(
            BlobProvider(
                .filter { base, _ in base }, schemes: ["tgz"], mediaTypes: ["application/x-tgz"],
                fileExtensions: ["tar.gz", "tgz"]))
        func scheme(_ bytes: [UInt8] = [0], type: String? = nil, name: String? = nil) throws -> String? {
            try registry.identify(MemorySource(bytes, mediaType: type, name: name)).provider?.schemes.first
        }
        #expect(try scheme([0x1F], type: "application/x-tgz", name: "x.tgz") == "gz")
        #expect(try scheme(type: "application/x-tgz", name: "x.gz") == "tgz")
        #expect(try scheme(type: "Application/GZIP; charset=x", name: "x.tgz") == "gz")
        #expect(try scheme(type: "application/gzip ;a=b") == "gz")
        #expect(try scheme(type: "application/octet-stream", name: "x.gz") == "gz")
        #expect(try scheme(name: "X.GZ") == "gz")
        #expect(try scheme(name: "x.tar.gz") == "tgz")
        #expect(try scheme(name: "gz") == nil)
        #expect(try scheme(name: "x.gz.txt") == nil)
        #expect(try scheme() == nil)
    }

    @Test func identifyingLooksNoFurtherThanTheSignatures() throws {
        let furthest = Locked<Int64>(0)
        let endless = ClosureSource { offset, output, _ in
            let count = output.freeCapacity
            output.append(repeating: 0, count: count, as: UInt8.self)
            furthest.withLock { $0 = max($0, offset + Int64(count)) }
        }
        var registry = BlobRegistry()
        #expect(try registry.identify(endless).provider == nil)
        #expect(furthest.withLock { $0 } == 0)
        try registry.register(filter("short", [BlobSignature([1, 2])]))
        _ = try registry.identify(endless)
        #expect(furthest.withLock { $0 } == 2)
        try registry.register(filter("far", [BlobSignature([0, 0], at: 36 * 1024 - 2)]))
        #expect(try registry.identify(endless).provider?.schemes == ["far"])
        #expect(furthest.withLock { $0 } == 36 * 1024)
        #expect(BlobSignature.maximumExtent == 36 * 1024)
    }

    @Test func identifyingConsumesNothingOfASourceThatPassesByOnce() throws {
        let content = [7, 7] + (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var registry = BlobRegistry()
        try registry.register(
            filter("seven", [BlobSignature([7, 7]), BlobSignature([1, 1], at: 36 * 1024 - 2)]))
        let pipe = BlobPipe(capacity: 200_000, info: BlobInfo(name: "p", validator: .strong("v")))
        try pipe.write(Data(content))
        pipe.finish()
        let taken = Locked(0)
        let counted = pipe.source.counting { count, _, _ in taken.withLock { $0 += count } }

        let first = try registry.identify(counted)
        #expect(first.provider?.schemes == ["seven"])
        #expect(taken.withLock { $0 } == 36 * 1024)
        // Once more, as in a chain of filters.
        let second = try registry.identify(first.source)
        #expect(second.provider?.schemes == ["seven"])
        #expect(taken.withLock { $0 } == 36 * 1024)
        #expect(try second.source.info() == BlobInfo(name: "p", validator: .strong("v")))
        #expect(try second.source.data(upTo: 200_000) == Data(content))
        let again = try #require(throws: BlobError.self) { try second.source.open() }
        #expect(again.code == .unsupported)
    }

    @Test func aSourceThatPassesByOnceIsResolvedThroughItsWholeChain() throws {
        let registry = try toyRegistry(["x": xor(toy([("in", xor(toy([("a", [5])])))]))])
        #expect(try bytes(registry, "archive+once:x#in!/a") == [5])
        #expect(try bytes(registry, "once:x#in!/a") == [5])
    }

    @Test func anIdentifiedSourceThatPassesByOnceIsCancelledByTheContextItIsReadWith() throws {
        var registry = BlobRegistry()
        try registry.register(filter("seven", [BlobSignature([7])]))
        let isWaiting = DispatchSemaphore(value: 0)
        let identified = BlobContext(idleLimit: .seconds(30))  // So that the thread ends in any case.
        let once = SequentialSource(layer: "Once", info: BlobInfo()) {
            .stream(StallingStream($0, isWaiting), startingAt: 0)
        }
        let source = try registry.identify(once, context: identified).source
        let context = BlobContext()
        let reader = try source.open(context: context)
        #expect(try Array(oneReadOf: reader) == [7])

        let outcome = Locked<BlobError?>(nil)
        let done = DispatchSemaphore(value: 0)
        let handedOver = UnsafeTransfer(reader)  // To the thread that is waited for below.
        Thread.detachNewThread {
            let error = #expect(throws: BlobError.self) { try Array(oneReadOf: handedOver.value) }
            outcome.withLock { $0 = error }
            done.signal()
        }
        isWaiting.wait()
        context.cancellation.cancel()
        #expect(done.wait(timeout: .now() + 15) == .success)
        #expect(outcome.withLock { $0 }?.code == .cancelled)
    }

    @Test func aSourceThatFailsWhileItIsIdentifiedIsClosed() throws {
        var registry = BlobRegistry()
        try registry.register(filter("seven", [BlobSignature([7])]))
        let pipe = BlobPipe()
        pipe.finish(throwing: BlobError(.corrupted, "Broken."))
        let error = try #require(throws: BlobError.self) { try registry.identify(pipe.source) }
        #expect(error.code == .corrupted)
        #expect(throws: BlobError.self) { try pipe.write(Data([1])) }
    }
}

// MARK: - Toys

private func toyRegistry(_ blobs: [String: [UInt8]] = [:]) throws -> BlobRegistry {
    var registry = BlobRegistry()
    try registry.register(origin("mem", blobs))
    try registry.register(
        BlobProvider(
            .origin { locator, _ in
                guard let bytes = blobs[locator.schemeSpecificPart] else { throw BlobError(.notFound, "No such blob.") }
                let pipe = BlobPipe(capacity: max(bytes.count, 1))
                try pipe.write(Data(bytes))
                pipe.finish()
                return pipe.source
            }, schemes: ["once"]))
    try registry.register(filter("xor", [BlobSignature(Array("XOR1".utf8))]))
    try registry.register(
        BlobProvider(
            .container { base, _ in ToyContainer(base: base) }, schemes: ["toy"], fileExtensions: ["toy"],
            signatures: [BlobSignature(Array("TOY1".utf8))]))
    return registry
}

private func bytes(_ registry: BlobRegistry, _ locator: String) throws -> [UInt8] {
    try Array(registry.source(for: locator).data(upTo: 1 << 20))
}

/// `x2` is there for all, and decodes to nothing.
private func origin(_ scheme: String, _ blobs: [String: [UInt8]]) -> BlobProvider {
    BlobProvider(
        .origin { locator, _ in
            let name = locator.schemeSpecificPart
            guard let bytes = blobs[name] ?? (name == "x2" ? xor([]) : nil) else {
                throw BlobError(.notFound, "No such blob.")
            }
            return MemorySource(bytes, name: name)
        }, schemes: [scheme])
}

private func filter(_ scheme: String, _ signatures: [BlobSignature] = []) -> BlobProvider {
    BlobProvider(
        .filter { base, _ in XorSource(base: base) }, schemes: [scheme], signatures: signatures)
}

/// `XOR1`, then the bytes with every bit flipped.
private func xor(_ bytes: [UInt8]) -> [UInt8] { Array("XOR1".utf8) + bytes.map { ~$0 } }

private struct XorSource: BlobInputStreamDataSource {
    let base: any BlobInputStreamDataSource

    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo { try Self.decoded(self.base.info(context)) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(at: 4 + opening.byteOffset, context: opening.context)
        return .transform(base, Inversion(), startingAt: opening.byteOffset)
    }

    static func decoded(_ info: BlobInfo) -> BlobInfo { BlobInfo(byteCount: info.byteCount.map { $0 - 4 }) }
}

private struct Inversion: BlobTransform {
    func info(of base: BlobInfo) -> BlobInfo { XorSource.decoded(base) }

    func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) -> BlobStep {
        while !input.isEmpty, output.freeCapacity > 0 {
            output.append(~input.unsafeLoad(fromByteOffset: 0, as: UInt8.self), as: UInt8.self)
            input = input.extracting(droppingFirst: 1)
        }
        return input.isEmpty ? (isLast ? .end : .needsInput) : .full
    }
}

/// One byte, then nothing for ever.
private final class StallingStream: BlobByteStream {
    let info: BlobInfo? = BlobInfo()
    private let context: BlobContext
    private let isWaiting: DispatchSemaphore

    init(_ context: BlobContext, _ isWaiting: DispatchSemaphore) {
        self.context = context
        self.isWaiting = isWaiting
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard byteOffset > 0 else {
            output.append(7, as: UInt8.self)
            return .bytes
        }
        self.isWaiting.signal()
        return try self.context.wait(on: WaitSignal()) { () -> BlobReadResult? in nil }
    }
}

/// `TOY1`, then for each member: length and bytes of its name, length (4 bytes, big-endian) and bytes of its content.
private func toy(_ members: [(String, [UInt8])]) -> [UInt8] {
    members.reduce(Array("TOY1".utf8)) { bytes, member in
        let length = (0..<4).map { UInt8(truncatingIfNeeded: member.1.count >> (24 - 8 * $0)) }
        return bytes + [UInt8(member.0.utf8.count)] + Array(member.0.utf8) + length + member.1
    }
}

private struct ToyContainer: BlobContainer {
    let base: any BlobInputStreamDataSource

    func member(_ selector: BlobLocator.Selector, context: BlobContext) throws -> any BlobInputStreamDataSource {
        for (index, (name, content)) in try self.contents(context).enumerated()
        where selector == .name(name) || selector == .index(index) {
            return MemorySource(content)
        }
        throw BlobError(.notFound, "There is no member \(selector.text).")
    }

    func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws {
        for (index, (name, content)) in try self.contents(context).enumerated() {
            guard try body(BlobMember(index: index, name: name, byteCount: Int64(content.count))) else { return }
        }
    }

    private func contents(_ context: BlobContext) throws -> [([UInt8], ArraySlice<UInt8>)] {
        var rest = Array(try self.base.data(upTo: 1 << 20, context: context)).dropFirst(4)
        var contents: [([UInt8], ArraySlice<UInt8>)] = []
        while let nameLength = rest.popFirst() {
            let name = Array(rest.prefix(Int(nameLength)))
            rest = rest.dropFirst(Int(nameLength))
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            contents.append((name, rest.dropFirst(4).prefix(length)))
            rest = rest.dropFirst(4 + length)
        }
        return contents
    }
}

extension Array<UInt8> {
    /// The bytes of one read into 64 KiB.
    fileprivate init(oneReadOf reader: BlobReader) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
        defer { buffer.deallocate() }
        let count = try reader.readBlocking(into: buffer)
        self.init(buffer[..<count])
    }
}
