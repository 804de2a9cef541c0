/// A latch that opens once and lets go of all who wait for it.
package final class Latch: Sendable {
    private let recorder = Recorder<Bool>()

    /// Makes a latch that is closed.
    package init() {}

    /// True once the latch was opened.
    package var isOpen: Bool { !self.recorder.values.isEmpty }

    /// Opens the latch. Opening it again does nothing.
    package func open() { self.recorder.append(true) }

    /// Suspends until the latch is open.
    package func opened() async { await self.recorder.values(count: 1) }

    /// Blocks until the latch is open.
    package func wait() { self.recorder.waitForValues(count: 1) }
}
