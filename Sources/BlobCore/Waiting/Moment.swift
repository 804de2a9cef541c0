/// An instant of the system's monotonic clock.
///
/// Its size is known to the compiler. The size of `ContinuousClock.Instant`, and of types that hold one, is not: each
/// use of a ``BlobContext`` would look it up at run time.
package struct Moment: Comparable, Sendable {
    private static let origin = ContinuousClock.now
    private let sinceOrigin: Duration

    package init(_ instant: ContinuousClock.Instant) { self.sinceOrigin = Self.origin.duration(to: instant) }
    private init(sinceOrigin: Duration) { self.sinceOrigin = sinceOrigin }

    package static var now: Self { Self(.now) }
    package static func < (left: Self, right: Self) -> Bool { left.sinceOrigin < right.sinceOrigin }

    package static func + (left: Self, right: Duration) -> Self { Self(sinceOrigin: left.sinceOrigin + right) }
    package static func - (left: Self, right: Self) -> Duration { left.sinceOrigin - right.sinceOrigin }

    package var instant: ContinuousClock.Instant { Self.origin.advanced(by: self.sinceOrigin) }

    /// The time from an earlier instant to this one, in seconds.
    package func timeInterval(since earlier: Self) -> Double {
        (self.sinceOrigin - earlier.sinceOrigin) / .seconds(1)
    }

    /// The time until this instant, at least zero.
    package var remaining: Duration { max(.zero, self.sinceOrigin - Self.now.sinceOrigin) }
}
