import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Tars that no writer makes, each with one fault, or with headers that few writers make.
@Suite struct TarFaultTests {
    /// A header of ustar, or of GNU if `change` sets its magic.
    private static func header(
        _ name: String, _ byteCount: Int, type: Character = "0", change: (inout [UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, _ place: Int) {
            block.replaceSubrange(place..<(place + text.utf8.count), with: text.utf8)
        }
        put(name, 0)
        put("0000644", 100)
        put(String(byteCount, radix: 8), 124)
        put(String(type), 156)
        put("ustar\u{0}00", 257)
        change(&block)
        put("        ", 148)
        put("\(String(block.reduce(0) { $0 + Int($1) }, radix: 8))\u{0}", 148)
        return block
    }

    private static func padded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (512 - bytes.count % 512) % 512)
    }

    private static func pax(_ records: KeyValuePairs<String, String>) -> [UInt8] {
        var body: [UInt8] = []
        for (key, value) in records {
            let rest = " \(key)=\(value)\n"
            var count = rest.utf8.count + 1
            while String(count).utf8.count + rest.utf8.count != count { count += 1 }
            body += "\(count)\(rest)".utf8
        }
        return self.header("pax", body.count, type: "x") + self.padded(body)
    }

    /// A header of GNU's sparse files with a region of 12 + 12 digits, and `change`.
    private static func sparse(
        _ byteCount: Int, realSize: String = "1000", region: String = "000000000000000000000003",
        change: (inout [UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        self.header("sparse", byteCount, type: "S") { block in
            block.replaceSubrange(257..<265, with: "ustar  \u{0}".utf8)
            block.replaceSubrange(386..<410, with: region.utf8)
            block.replaceSubrange(483..<(483 + realSize.utf8.count), with: realSize.utf8)
            change(&block)
        }
    }

    private static let next = header("next", 3) + padded("sun".utf8) + [UInt8](repeating: 0, count: 1024)

    /// The list names the fault of the member, whose bytes are refused, and the next member is read.
    @Test(arguments: [
        (pax(["GNU.sparse.major": "9", "GNU.sparse.minor": "1"]), "the format of the sparse file is unknown"),
        (pax(["GNU.sparse.map": "0,3,5"]), "the map of the sparse file is malformed"),
        (pax(["GNU.sparse.map": "0,x"]), "the map of the sparse file is malformed"),
        (pax(["GNU.sparse.numblocks": "2", "GNU.sparse.numbytes": "3"]), "the map of the sparse file is malformed"),
        (pax(["GNU.sparse.numblocks": "9"]), "the map of the sparse file has the wrong number of entries"),
        (pax(["size": "x"]), "a number in the pax header is malformed"),
    ])
    func aFaultOfAnExtensionIsThatOfItsMember(_ extensionHeader: [UInt8], fault: String) async throws {
        let bytes = extensionHeader + Self.header("odd", 3) + Self.padded("sun".utf8) + Self.next
        let archive = tar(Data(bytes))
        let members = try await archive.members()
        #expect(members.map(\.name) == [Array("odd".utf8), Array("next".utf8)])
        #expect(members.first?.headerFault?.contains(fault) == true, "\(members.first?.headerFault ?? "none")")
        #expect(try await archive.code("odd") == .corrupted)
        #expect(try await archive.data("next") == Data("sun".utf8))
    }

    /// Nothing but the bytes of this member is wrong.
    @Test(arguments: [
        ("a negative offset", sparse(3) { $0[386] = 0xFF }),
        (
            "an end beyond 63 bits",
            sparse(3) {
                $0.replaceSubrange(386..<398, with: [0x80, 0, 0, 0, 0x7F] + [UInt8](repeating: 0xFF, count: 7))
            }
        ),
        ("fewer bytes in parts", sparse(3, region: "000000000000000000000002")),
        ("more bytes in parts", sparse(3, region: "000000000000000000000004")),
        ("no map", pax(["GNU.sparse.major": "1", "GNU.sparse.minor": "0"]) + header("map", 3)),
        ("a map of no number", pax(["GNU.sparse.major": "1", "GNU.sparse.minor": "0"]) + header("map", 8)),
    ])
    func aSparseFileThatContradictsItselfIsAnError(_ what: String, _ headers: [UInt8]) async throws {
        let archive = tar(Data(headers + Self.padded("9\nabcde\n".utf8) + Self.next))
        #expect(try await archive.code(.index(0)) == .corrupted, "\(what)")
        #expect(try await archive.data("next") == Data("sun".utf8), "\(what)")
    }

    @Test func aNegativeLengthIsNamed() async throws {
        let header = Self.sparse(3) { block in
            block.replaceSubrange(483..<495, with: [UInt8](repeating: 0xFF, count: 12))
        }
        let archive = tar(Data(header + Self.padded("sun".utf8) + Self.next))
        let member = try #require(try await archive.members().first)
        #expect(member.byteCount == 0 && member.headerFault?.contains("negative") == true)
        #expect(try await archive.code(.index(0)) == .corrupted)
    }

    /// Headers that are not members: access control lists of Solaris, and the name of a volume.
    @Test func headersThatAreNoMembersAreSkipped() async throws {
        let bytes =
            Self.header("acl", 600, type: "A") + [UInt8](repeating: 7, count: 1024) + Self.header("v", 9, type: "V")
        #expect(try await tar(Data(bytes + Self.next)).members().map(\.name) == [Array("next".utf8)])
    }

    @Test func numbersBeyondTheLimitsAreErrors() async throws {
        let long = Self.header("long", 1 << 20 + 1, type: "x")
        #expect(try await tar(Data(long + Self.next)).listingCode() == .limitExceeded)
        let global = Data(Self.header("g", 1 << 20, type: "g")) + Data(count: 1 << 20)
        var many = Data()
        for _ in 0..<65 { many.append(global) }
        #expect(try await tar(many + Self.next).listingCode() == .limitExceeded)
        // A list of 500,001 regions, and a header whose list of regions does not end.
        let map = Self.pax(["GNU.sparse.major": "1", "GNU.sparse.minor": "0"]) + Self.header("map", 512)
        #expect(try await tar(Data(map + Self.padded("500001\n".utf8) + Self.next)).code(.index(0)) == .limitExceeded)
        let endless = Data(Self.sparse(3) { $0[482] = 1 }) + Data(repeating: UInt8(ascii: "1"), count: 13 << 20)
        #expect(try await tar(endless).listingCode() == .limitExceeded)
    }
}

extension ArchiveContainer {
    /// The code of the error with which listing the members ends; nil without an error.
    fileprivate func listingCode() async throws -> BlobError.Code? {
        try await onThread {
            var code: BlobError.Code?
            do { try self.forEachMember(BlobContext()) { _ in true } } catch { code = BlobError(wrapping: error).code }
            return code
        }
    }
}
