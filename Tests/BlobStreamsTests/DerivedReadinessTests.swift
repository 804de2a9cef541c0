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
}
