#if Photos
import BlobCore
import BlobHelper
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Recipes, and the plans by which they are rendered.
@Suite struct RecipeTests {
    private static let operations: [AdjustmentOperation] = [
        .orientation(6), .straighten(degrees: -3.5), .exposure(0.5),
        .affine(AffineMatrix(a: 1, b: 0.5, c: 0, d: 2, tx: -3, ty: 4), width: 30, height: 20),
        .crop(PictureRectangle(left: 1, top: 2, width: 3, height: 4)),
    ]

    @Test func equalRecipesAreEqualBytes() throws {
        let recipe = AdjustmentRecipe(Self.operations)
        #expect(try AdjustmentRecipe(recipe.canonicalBytes) == recipe)
        #expect(try AdjustmentRecipe(recipe.canonicalBytes).canonicalBytes == recipe.canonicalBytes)
        #expect(
            String(decoding: AdjustmentRecipe([.exposure(0.5)]).canonicalBytes, as: UTF8.self)
                == #"{"formatIdentifier":"org.blobstreams.adjustment","formatVersion":"1","operations":"#
                + #"[{"name":"exposure","value":0.5}]}"#)
    }

    @Test(arguments: [
        (#"{"formatIdentifier":"x","formatVersion":"1","operations":[]}"#, BlobError.Code.unsupported),
        (#"{"formatIdentifier":"org.blobstreams.adjustment","formatVersion":"2","operations":[]}"#, .unsupported),
        (#"[{"name":"glow","value":1}]"#, .unsupported), (#"[{"name":"exposure","value":11}]"#, .corrupted),
        (#"[{"name":"orientation","value":9}]"#, .corrupted), (#"[{"name":"orientation","value":0.5}]"#, .corrupted),
        (#"[{"name":"crop","rectangle":{"left":-1,"top":0,"width":1,"height":1}}]"#, .corrupted),
        (#"[{"name":"tone","table":"AAAA"}]"#, .unsupported), (#"[{"name":"exposure"}]"#, .corrupted),
        ("[", .corrupted),
        (String(repeating: "[", count: 100_000), .corrupted), (String(repeating: " ", count: 300_000), .limitExceeded),
    ])
    func aRecipeThatCannotBeRenderedIsATypedError(text: String, code: BlobError.Code) {
        let head = #"{"formatIdentifier":"org.blobstreams.adjustment","formatVersion":"1","operations":"#
        let json = text.hasPrefix("[{") ? "\(head)\(text)}" : text
        #expect(codeThrown { try AdjustmentRecipe(Array(json.utf8)) } == code)
    }

    @Test func noPrefixAndNoFlippedBitEndsTheProcess() {
        let json = AdjustmentRecipe(Self.operations).canonicalBytes
        for count in json.indices { #expect(codeThrown { try AdjustmentRecipe(Array(json[..<count])) } != nil) }
        for other in json.copiesWithAFlippedBit { _ = try? AdjustmentRecipe(other) }
    }

    /// Each orientation moves the pixels of a picture of 3 by 2 as TIFF 6.0 says.
    @Test(arguments: 1...8) func orientationsComposeAndAreUndone(first: Int) throws {
        let size = PictureSize(width: 3, height: 2)
        for second in 1...8 {
            let (one, two) = (try #require(PictureOrientation(first)), try #require(PictureOrientation(second)))
            let both = one.followed(by: two)
            let after = both.applied(to: size)
            for left in 0..<after.width {
                for top in 0..<after.height {
                    let pixel = PictureRectangle(left: left, top: top, width: 1, height: 1)
                    let between = two.preimage(of: pixel, in: one.applied(to: size))
                    #expect(both.preimage(of: pixel, in: size) == one.preimage(of: between, in: size))
                }
            }
        }
        // The places of the first pixel of the first row: tag 274 names them.
        let corners = [(0, 0), (2, 0), (2, 1), (0, 1), (0, 0), (0, 1), (2, 1), (2, 0)]
        let place = try #require(PictureOrientation(first)).preimage(
            of: PictureRectangle(left: 0, top: 0, width: 1, height: 1), in: size)
        #expect((place.left, place.top) == corners[first - 1])
    }

    @Test func aPlanCropsBeforeItTurnsAndHasOneTable() throws {
        let recipe = AdjustmentRecipe([
            .orientation(6), .exposure(1), .crop(PictureRectangle(left: 10, top: 20, width: 30, height: 40)),
            .exposure(-1),
            .orientation(8),
        ])
        let plan = try RenderPlan(recipe, for: PictureSize(width: 200, height: 100))
        #expect(plan.size == PictureSize(width: 40, height: 30))
        #expect(
            plan.steps.count == 2
                && plan.steps.first == .crop(PictureRectangle(left: 20, top: 60, width: 40, height: 30)))
        #expect(plan.turnAndCrop == nil)
        let turned = try RenderPlan(
            AdjustmentRecipe([.crop(PictureRectangle(left: 8, top: 0, width: 16, height: 8)), .orientation(3)]),
            for: PictureSize(width: 64, height: 64))
        #expect(
            turned.turnAndCrop?.orientation.number == 3 && turned.turnAndCrop?.crop?.left == 8)
        #expect(
            codeThrown {
                try RenderPlan(
                    AdjustmentRecipe([.crop(PictureRectangle(left: 1, top: 0, width: 64, height: 1))]),
                    for: PictureSize(width: 64, height: 64))
            } == .invalidArgument)
    }

    @Test func operationsThatUndoEachOtherAreNoSteps() throws {
        let recipe = AdjustmentRecipe([
            .orientation(6), .orientation(8), .exposure(0), .straighten(degrees: 0),
            .crop(PictureRectangle(left: 0, top: 0, width: 7, height: 5)),
        ])
        #expect(try RenderPlan(recipe, for: PictureSize(width: 7, height: 5)).steps.isEmpty)
    }

    @Test func tablesFollowTheirMathematics() throws {
        // By hand: 0.5 in linear light is 187.5 encoded, a quarter is 136.96.
        let table = try #require(AdjustmentOperation.exposure(-1).table)
        #expect(table[255] == 188 && table[188] == 137 && table[0] == 0)
        #expect(AdjustmentOperation.exposure(1).table?[188] == 255)
        let both = try RenderPlan(
            AdjustmentRecipe([.exposure(-1), .exposure(-1)]), for: PictureSize(width: 1, height: 1))
        #expect(both.steps == [.table(table.map { table[Int($0)] })])
    }
}
#endif
