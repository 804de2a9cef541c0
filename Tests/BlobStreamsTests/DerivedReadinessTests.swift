import BlobStreams
import Testing

@Suite struct DerivedReadinessTests {
    @Test func theErrorOfTheBaseMayBeMadeAnother() throws {
        let base = PlayedReader()
        let derived = try #require(
            DerivedReadiness(following: base) { BlobError($0.code, "Part 1: \($0.message)") })
        base.state.update { $0.hasBytesAvailable = true }
        #expect(derived.state.value == BlobReaderState(isOpenCompleted: true, hasBytesAvailable: true))
        base.state.update { $0.error = BlobError(.refused, "No.") }
        #expect(derived.state.value.error == BlobError(.refused, "Part 1: No."))
    }

    @Test func theErrorOfTheBaseIsPassedOn() throws {
        let base = PlayedReader()
        let derived = try #require(DerivedReadiness(following: base))
        base.state.update { $0.error = BlobError(.refused, "No.") }
        #expect(derived.state.value.error == BlobError(.refused, "No."))
    }
}
