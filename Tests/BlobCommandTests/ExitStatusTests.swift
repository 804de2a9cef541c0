#if Command
import BlobCore
import Testing

@Suite struct ExitStatusTests {
    /// The exit statuses of the command line, by the number of the code from 1.
    private static let statuses: [Int32] = [
        66, 77, 64, 64, 64, 65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 75, 75, 130, 74, 69, 76, 70, 70, 70,
    ]

    @Test func everyCodeHasTheStatusOfTheTable() {
        for (index, status) in Self.statuses.enumerated() {
            #expect(BlobError.Code(rawValue: index + 1).exitStatus == status)
        }
        for number in [Int.min, -1, 0, 25, Int.max] { #expect(BlobError.Code(rawValue: number).exitStatus == 70) }
    }
}
#endif
