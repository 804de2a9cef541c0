/// A moment of the system's monotonic clock.
///
/// Of a size that the compiler knows. That of `ContinuousClock.Instant` it does not, nor then that of a type that holds
/// one: each use of a ``BlobContext`` would ask for it while the program runs.
package struct Moment: Comparable, Sendable {
    private static let origin = ContinuousClock.now
    private let sinceOrigin: Duration

    package init(_ instant: ContinuousClock.Instant) { self.sinceOrigin = Self.origin.duration(to: instant) }

    package static var now: Self { Self(.now) }
    package static func < (left: Self, right: Self) -> Bool { left.sinceOrigin < right.sinceOrigin }

    package var instant: ContinuousClock.Instant { Self.origin.advanced(by: self.sinceOrigin) }

    /// How long it is until then, at least zero.
    package var remaining: Duration { max(.zero, self.sinceOrigin - Self.now.sinceOrigin) }
}
