import Foundation

extension BlobStreamEngine {
    /// Sets the offset at which reading begins or continues.
    ///
    /// - Returns: False when the offset is refused; the stream is then unchanged.
    func setOffset(_ byteOffset: Int64) -> Bool {
        guard byteOffset >= 0 else { return false }
        let (traits, waiter) = (self.source.traits, WaitSignal())
        while true {
            let step = self.update(delivers: false) { machine, state in
                machine.beginSettingOffset(byteOffset, traits, self.mode, waiter, &state)
            }
            switch step {
            case .done(let isSet):
                self.state.deliver()
                return isSet
            case .start(let id): self.start(id)
            case .restart(let id):
                self.state.deliver()
                self.start(id)
                return self.mode == .asynchronous || self.state.value.phase != .failed
            case .skip(let use, let count):
                use.reader.skip(count)
                self.checkForBytes(with: use)
                return true
            case .replace(let old): return self.openAndReplace(byteOffset, traits, for: old)
            case .wait:
                // A cancellation ends the stream, which wakes all waiters.
                let limit = self.context.stepLimit().remaining
                guard BlockingPool.leave({ waiter.wait(for: limit) }) else { return false }
            }
        }
    }

    private func openAndReplace(_ byteOffset: Int64, _ traits: BlobTraits, for old: Machine.Session) -> Bool {
        // Keeps the old reader from being deallocated under the lock.
        defer { withExtendedLifetime(old) {} }
        let isOldReaderReserved = !traits.contains(.concurrentReaders)
        let validator = self.withMachine { machine, _ in machine.validator }
        let cancellation = self.context.cancellation.makeChild()
        let reader = try? self.makeReader(at: byteOffset, matching: validator, cancellation)
        let use = reader.flatMap { reader in
            let info = reader.info
            return self.update(delivers: false) { machine, state in
                machine.replaceReader(
                    with: reader, neverBlocks: reader.neverBlocks, info: info, at: byteOffset, for: old.id,
                    isOldReaderReserved: isOldReaderReserved, cancellation: cancellation, &state)
            }
        }
        if let use {
            self.checkForBytes(with: use)
        } else {
            reader?.close()
            self.update(delivers: false) { machine, _ in
                ((), machine.keepSession(old.id, isOldReaderReserved: isOldReaderReserved))
            }
            self.publishOutcome()
            self.state.deliver()
        }
        return use != nil
    }
}
