import BlobStreams
import Testing

@Suite struct DerivedReadinessTests {
    private let base = BlobObservable(BlobReaderState(isOpenCompleted: true))
    private let derived = DerivedReadiness()

    init() { self.derived.follow(self.base) }

    @Test func theEndOfTheBaseIsOneMoreReadThatIsWorthIt() {
        self.base.update { $0.isAtEnd = true }
        self.derived.refresh(afterReading: 0)
        #expect(self.derived.state.value == BlobReaderState(isOpenCompleted: true, hasBytesAvailable: true))
        self.derived.end()
        #expect(self.derived.state.value == BlobReaderState(isOpenCompleted: true, isAtEnd: true))
    }

    @Test func bytesThatAreHeldCountAsAvailableUntilTheyAreTaken() {
        self.derived.refresh(afterReading: 10, holdingBytes: true)
        #expect(self.derived.state.value.hasBytesAvailable)
        self.derived.refresh(afterReading: 10)
        #expect(!self.derived.state.value.hasBytesAvailable)
    }

    @Test func bytesThatAreHeldComeBeforeAnErrorOfTheBase() {
        self.derived.refresh(afterReading: 10, holdingBytes: true)
        let failure = BlobError(.io, "Gone.")
        self.base.update { $0.error = failure }
        #expect(self.derived.state.value == BlobReaderState(isOpenCompleted: true, hasBytesAvailable: true))
        self.derived.refresh(afterReading: 10)
        #expect(self.derived.state.value.error == failure)
    }

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
