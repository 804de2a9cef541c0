import BlobCore
import BlobTestSupport
import BlobTransfer
import Testing

@testable import S3Source

/// The division into parts, and the tags of what was stored.
@Suite struct PartPlanTests {
    @Test func anAnswerIsADocumentOfAName() throws {
        func document(_ text: String) throws -> MarkupElement {
            let secrets = SentSecrets([], [], BlobTransferSettings())
            let answer = S3Client.Answer(head: ResponseHead(), body: Array(text.utf8), secrets: secrets)
            return try answer.document("ListPartsResult")
        }
        let list = try document(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
              <Bucket>a &amp; b</Bucket><Owner/><Part><ETag>&quot;0f&quot;</ETag></Part>
            </ListPartsResult>
            """)
        #expect(list.text(of: "Bucket") == "a & b" && list.text(of: "Owner") == "" && list.text(of: "Key") == nil)
        #expect(list.children.last?.text(of: "ETag") == "\"0f\"")
        for text in ["", "<a/>", "<ListPartsResult>", "{}", "<ListPartsResult/>x"] {
            let error = #expect(throws: BlobError.self) { try document(text) }
            #expect(error?.code == .corrupted && error?.operation == "write")
        }
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
