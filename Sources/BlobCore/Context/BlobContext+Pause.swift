extension BlobContext {
    /// Waits for the duration; throws when the job is cancelled or times out before.
    package func pause(for duration: Duration) throws(BlobError) {
        let end = ContinuousClock.now + duration
        let signal = WaitSignal()
        let registration = self.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        while ContinuousClock.now < end {
            try self.check()
            _ = signal.wait(for: min(end, self.deadline ?? end) - .now)
        }
        try self.check()
    }
}
