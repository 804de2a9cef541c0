import BlobCore
import BlobTestSupport
import Testing

@testable import S3Source

/// The XML of stores, and the division into parts.
@Suite struct S3DocumentTests {
    private static let list = Array(
        """
          <?xml version="1.0" encoding="UTF-8"?>
        <!-- a comment -->
        <ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/" a='>'>
          <Bucket>a &amp; b &lt;c&gt; &#100;&#x65;</Bucket><Owner/>
          <Part ><PartNumber>1</PartNumber><ETag>&quot;0f&quot;</ETag><Size>5</Size></Part >
          <Part><PartNumber>2</PartNumber><ETag>"ü"</ETag><Size>6</Size></Part>
        </ListPartsResult>

        """.utf8)

    @Test func elementsAndTextAreRead() throws {
        let document = try S3Document(Self.list)
        #expect(
            document.name == "ListPartsResult" && document.children.map(\.name) == ["Bucket", "Owner", "Part", "Part"])
        #expect(document.text(of: "Bucket") == "a & b <c> de" && document.text(of: "Owner") == "")
        #expect(document.children[2].text(of: "ETag") == "\"0f\"" && document.children[3].text(of: "ETag") == "\"ü\"")
        #expect(document.text(of: "Missing") == nil)
    }

    /// Every prefix but the whole is an error, and every flipped bit ends.
    @Test func damagedDocumentsAreErrors() throws {
        let end = Self.list.lastIndex(of: UInt8(ascii: ">")) ?? 0
        for index in Self.list.indices where index <= end {
            #expect(codeThrown { try S3Document(Array(Self.list[..<index])) } == .corrupted)
            for bit in 0..<8 {
                var flipped = Self.list
                flipped[index] ^= 1 << bit
                let code = codeThrown { try S3Document(flipped) }
                #expect(code == nil || code == .corrupted)
            }
        }
    }

    @Test(arguments: [
        "", " ", "x", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x", "x<a/>", "<a", "<a b>", "<a b=c/>", "<a b='<'/>",
        "<a>&x;</a>", "<a>&</a>", "<a>&#xD800;</a>", "<a>&#;</a>", "<!DOCTYPE a [<!ENTITY x 'y'>]><a/>",
        "<a><![CDATA[x]]></a>", "<1/>", "< a/>", "<a/ >", "<?xml <a/>", "<!-- <a/>", "<a b='1'c='2'/>",
    ]) func whatIsNoSuchDocumentIsAnError(text: String) {
        #expect(codeThrown { try S3Document(Array(text.utf8)) } == .corrupted)
    }

    @Test func depthIsLimited() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)).utf8)
        }
        _ = try S3Document(nested(16))
        #expect(codeThrown { try S3Document(nested(17)) } == .corrupted)
        #expect(codeThrown { try S3Document(nested(100_000)) } == .corrupted)
        #expect(codeThrown { try S3Document([0xFF, 0x3C]) } == .corrupted)
    }

    @Test func partsGrowWithTheLength() throws {
        let mebibyte: Int64 = 1 << 20
        func plan(_ byteCount: Int64?, _ part: Int64 = 16 << 20) throws -> PartPlan {
            try PartPlan(partByteCount: part, byteCount: byteCount)
        }
        let last = 160_000 * mebibyte
        #expect(try plan(last).partByteCount == 16 * mebibyte && plan(last).count == 10_000)
        #expect(try plan(last + 1).partByteCount == 17 * mebibyte && plan(last + 1).count == 9_412)
        #expect(try plan(nil).count == nil && plan(1).count == 1 && plan(16 << 20).count == 1)
        let longest = 10_000 * (Int64(5) << 30)
        #expect(try plan(longest).partByteCount == 5 << 30 && plan(longest).count == 10_000)
        for byteCount in [longest + 1, .max] { #expect(codeThrown { try plan(byteCount) } == .limitExceeded) }
        for part in [0, (5 << 20) - 1, (5 << 30) + 1, .max] as [Int64] {
            #expect(codeThrown { try plan(1, part) } == .invalidArgument)
        }
        #expect(try plan(40 << 20).range(of: 3) == Int64(32 << 20)..<Int64(40 << 20))
        try plan(nil).check(10_000)
        #expect(codeThrown { try plan(nil).check(10_001) } == .limitExceeded)
    }

    @Test func tagsAreToldApart() {
        let digest = "0123456789abcdef0123456789ABCDEF"
        #expect(EntityTag.isMD5("\"\(digest)\"") && !EntityTag.isMD5("\(digest)0") && !EntityTag.isMD5("\(digest)-1"))
        #expect(EntityTag.isCombined("\(digest)-12") && !EntityTag.isCombined(digest) && !EntityTag.isCombined("x-1"))
    }
}
