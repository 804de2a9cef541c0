import BlobCore
import BlobPlatform

extension Kit {
    /// C5, C6: a reader that is opened at an offset within the blob returns the bytes from there.
    func checkOffsets() throws {
        for byteOffset in self.expected.offsets {
            let contract = byteOffset == self.expected.byteCount ? 5 : 6
            do {
                let bytes = try self.open(at: byteOffset).read(upTo: 256)
                let wanted = min(256, self.expected.byteCount - byteOffset)
                if bytes.count == wanted, self.expected.agrees(with: bytes, at: byteOffset) { continue }
                self.findings.add(
                    contract,
                    "Opened at byte \(byteOffset), the source returned \(bytes.count) bytes, not the expected ones."
                )
            } catch {
                return self.findings.add(
                    contract, "Opened at byte \(byteOffset) of \(self.expected.byteCount), the source throws",
                    BlobError(wrapping: error))
            }
        }
    }

    /// C5, C15: an offset outside the blob is an invalid argument, and not transient.
    func checkOffsetsOutside() throws {
        for byteOffset in [-1, self.expected.byteCount + 1, self.expected.byteCount + 70_000, .max, .min] {
            do {
                let step = try self.open(at: byteOffset).step()
                self.findings.add(5, "Opened at byte \(byteOffset), outside the blob, the source returns \(step).")
            } catch {
                self.findings.expect(
                    .invalidArgument, of: error, 5, "Opened at byte \(byteOffset), outside the blob, the source throws")
            }
        }
    }

    /// C7: opening with a validator requires the content that it identifies.
    func checkValidators() throws {
        let source = try self.makeSource()
        let validator = try source.info(BlobContext()).validator
        if let validator, source.traits.contains(.repeatable) {
            _ = try Pass(try source.open(matching: validator), self, capacity: 64).step()
        }
        let others: [BlobValidator] = [
            .strong("of other content"), .weak("\(self.expected.byteCount)-1-1"),
        ]
        for other in others {
            do {
                let step = try self.open(matching: other).step()
                self.findings.add(7, "Opened for different content, the source returns \(step).")
            } catch {
                self.findings.expect(.changed, of: error, 7, "Opened for different content, the source throws")
            }
        }
    }

    /// C10: readers are independent; a source that can be read only once refuses a second reader.
    func checkIndependence() throws {
        let source = try self.makeSource()
        let open = { (byteOffset: Int64) in Pass(try source.open(at: byteOffset), self, capacity: 512) }
        guard source.traits.contains(.repeatable) else {
            let first = try open(0)
            _ = try first.step()  // Needed because an event-driven opening may only have begun.
            do {
                let step = try open(0).step()
                self.findings.add(10, "The source is not repeatable, but a second opening returns \(step).")
            } catch {
                self.findings.expect(.unsupported, of: error, 10, "A second opening throws")
            }
            return withExtendedLifetime(first) {}
        }
        let passes = [try open(0), try open(self.expected.byteCount / 2)]
        for _ in 0..<64 {
            for pass in passes {
                guard case .bytes(let bytes) = try pass.step(), !pass.matchesExpectation(bytes) else { continue }
                let byteOffset = pass.reader.byteOffset - Int64(bytes.count)
                return self.findings.add(10, "Wrong bytes at byte \(byteOffset) when two readers are read in turn.")
            }
        }
    }

    /// C10: with `concurrentReaders`, readers are also independent on several threads.
    func checkConcurrency() throws {
        let source = try self.makeSource()
        guard source.traits.isSuperset(of: [.concurrentReaders, .repeatable]) else { return }
        concurrently(4) { index in
            do {
                let reader = try source.open(at: self.expected.byteCount / 4 * Int64(index))
                let pass = Pass(reader, self, capacity: 1024)
                for _ in 0..<256 {
                    guard case .bytes(let bytes) = try pass.step() else { return }
                    if pass.matchesExpectation(bytes) { continue }
                    let byteOffset = reader.byteOffset - Int64(bytes.count)
                    return self.findings.add(
                        10, "Wrong bytes at byte \(byteOffset) when several readers are read at the same time.")
                }
            } catch {
                self.findings.add(
                    10, "A reader fails when others are read at the same time", BlobError(wrapping: error))
            }
        }
    }
}

/// Runs `body` on new threads and waits for all of them. Does not use Dispatch, whose threads the source may need.
private func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let signal = WaitSignal()
    for index in 0..<count {
        inNewThread {
            body(index)
            signal.signal()
        }
    }
    for _ in 0..<count { _ = signal.wait(for: nil) }
}
