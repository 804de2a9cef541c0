import Foundation

extension BlobStreamEngine {
    /// Sets the offset at which reading begins or continues.
    ///
    /// - Returns: False when the offset is refused; the stream is then unchanged.
    func setOffset(_ byteOffset: Int64) -> Bool {
        guard byteOffset >= 0 else { return false }
        let (traits, waiter) = (self.source.traits, WaitSignal())
        while true {
            let setting = self.change(delivers: false) { machine, state in
                machine.beginSetting(byteOffset, traits, self.mode, waiter, &state)
            }
            switch setting {
            case .over(let isSet):
                self.state.deliver()
                return isSet
            case .start(let id): self.start(id)
            case .run(let id):
                self.state.deliver()
                self.start(id)
                return self.mode == .asynchronous || self.state.value.phase != .failed
            case .skip(let use, let count):
                use.reader.skip(count)
                self.look(use)
                return true
            case .open(let old): return self.openAndSwap(byteOffset, traits, for: old)
            case .wait:
                // A cancellation ends the stream, which wakes all waiters.
                let limit = self.context.stepLimit().remaining
                guard BlockingPool.leave({ waiter.wait(for: limit) }) else { return false }
            }
        }
    }

    private func openAndSwap(_ byteOffset: Int64, _ traits: BlobTraits, for old: Machine.Pass) -> Bool {
        // Keeps the old reader from being deallocated under the lock.
        defer { withExtendedLifetime(old) {} }
        let heldOld = !traits.contains(.concurrentReaders)
        let validator = self.ask { machine, _ in machine.validator }
        let cancellation = self.context.cancellation.makeChild()
        let reader = try? self.makeReader(at: byteOffset, matching: validator, cancellation)
        let use = reader.flatMap { reader in
            let info = reader.info
            return self.change(delivers: false) { machine, state in
                machine.swap(
                    reader, neverBlocks: reader.neverBlocks, info: info, at: byteOffset, for: old.id,
                    heldOld: heldOld, cancellation: cancellation, &state)
            }
        }
        if let use {
            self.look(use)
        } else {
            reader?.close()
            self.change(delivers: false) { machine, _ in ((), machine.keepPass(old.id, heldOld: heldOld)) }
            self.settle()
            self.state.deliver()
        }
        return use != nil
    }
}
