#if Photos
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

/// The steps of rendering on their way to the helper.
@Suite struct RenderStepTests {
    private static let steps: [RenderStep] = [
        .crop(left: 1, top: 2, width: 3, height: 4), .orientation(8), .table((0...255).map { UInt8($0) }),
        .affine([1, 0.5, -2, 1e3, -7, 9], width: 65_535, height: 1),
    ]

    @Test func theyArriveAsTheyWereSent() {
        #expect(RenderStep.decoded(RenderStep.encoded(Self.steps)) == Self.steps)
        #expect(RenderStep.decoded([]) == [])
    }

    @Test func invalidNumbersAreNoSteps() {
        for step in [
            RenderStep.crop(left: -1, top: 0, width: 1, height: 1), .crop(left: 0, top: 0, width: 0, height: 1),
            .orientation(9), .affine([1, 0, 0, 1, 0, .nan], width: 1, height: 1), .table([1]),
            .affine([1, 0, 0, 1, 0, 0], width: 65_536, height: 1),
        ] { #expect(RenderStep.decoded(RenderStep.encoded([step])) == nil) }
    }

    @Test func noPrefixAndNoFlippedBitEndsTheProcess() {
        let bytes = RenderStep.encoded(Array(Self.steps.prefix(3)))
        for count in bytes.indices where count % 8 != 0 { #expect(RenderStep.decoded(Array(bytes[..<count])) == nil) }
        for other in bytes.copiesWithAFlippedBit { _ = RenderStep.decoded(other) }
    }
}
#endif
