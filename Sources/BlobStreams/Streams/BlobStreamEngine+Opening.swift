import Foundation

extension BlobStreamEngine {
    /// Opens the stream; at its end, opens it again from where it began.
    func open() {
        // Asked outside of the lock: a source may have to look.
        let isRepeatable = self.state.value.phase == .atEnd && self.source.capabilities.contains(.repeatable)
        let pass = self.change { state, aftermath -> StreamPass? in
            switch state.phase {
            case .notOpen:
                self.startOffset = state.byteOffset
            case .atEnd where isRepeatable:
                state.byteOffset = self.startOffset
                self.dropEvents(.endEncountered)
            case .atEnd:
                let message = "The stream is at its end, and its source cannot be read again."
                self.fail(BlobError(.unsupported, message), &state, &aftermath)
                return nil
            case .open where state.byteOffset != self.startOffset:
                // Whoever opens expects the start; going on from here would lose bytes silently.
                let message = "The stream was opened again in the middle; read an unopened copy of it instead."
                self.fail(BlobError(.unsupported, message), &state, &aftermath)
                return nil
            default: return nil
            }
            state.phase = .opening
            (state.isOpenCompleted, state.isAtEnd) = (false, false)
            return self.beginPass(at: state.byteOffset)
        }
        if let pass { self.start(pass) }
    }

    /// Opens the source, unless another call does or the stream went another way meanwhile.
    func start(_ pass: StreamPass) {
        let isFirst = self.state.withValue { _ in
            guard self.pass === pass, !pass.isStarted else { return false }
            pass.isStarted = true
            return true
        }
        if isFirst { self.run(pass) }
    }

    /// Makes an opening the current one. Under the lock.
    func beginPass(at byteOffset: Int64) -> StreamPass {
        let pass = self.makePass(at: byteOffset)
        self.pass = pass
        if self.mode == .asynchronous { self.watchLimit() }
        return pass
    }

    func makePass(at byteOffset: Int64) -> StreamPass {
        var context = self.context.makeChild()
        context.eventSink = { [weak self, sink = self.context.eventSink] event in
            // By a thread that uses the reader, and delivers when it has done so.
            if case .recovered = event { self?.state.updateWithoutDelivering { $0.recoveries += 1 } }
            sink?(event)
        }
        return StreamPass(at: byteOffset, matching: self.validator, context)
    }

    /// Opens the source: now, or on a thread of the pool in asynchronous mode.
    private func run(_ pass: StreamPass) {
        self.watch(pass)
        if self.mode == .synchronous {
            let result = Result { () throws(BlobError) -> any StreamReader in try self.openReader(for: pass) }
            return self.install(result, pass)
        }
        let reader = PooledReader(self.source, at: pass.byteOffset, matching: pass.validator, pass.context)
        reader.run { _ in
        } completion: { result in
            let opened = result.map { () -> any StreamReader in
                reader.takeEventDrivenReader() ?? BackgroundReader(info: reader.info, reader)
            }
            self.install(opened, pass)
        }
    }

    func openReader(for pass: StreamPass) throws(BlobError) -> any StreamReader {
        let reader = try self.source.pollableReader(
            at: pass.byteOffset, matching: pass.validator, context: pass.context)
        do {
            try reader.finishOpening()
        } catch {
            reader.close()
            throw BlobError(wrapping: error)
        }
        return reader
    }

    /// Takes over what opening gave, unless the stream went another way meanwhile.
    func install(_ result: Result<any StreamReader, BlobError>, _ pass: StreamPass) {
        let handedOver = result.map(HandedOver.init)  // Ordered by the lock.
        let isInstalled = self.change { state, aftermath in
            switch handedOver {
            case .success(let reader) where self.pass === pass:
                pass.setReader(reader.value)
                return true
            case .success(let reader): aftermath.reader = reader.value
            case .failure(let error) where self.pass === pass: self.fail(error, &state, &aftermath)
            case .failure: break
            }
            return false
        }
        if isInstalled { self.follow(pass) }
    }

    /// Has the news of the reader of `pass` change the stream, from now on.
    func follow(_ pass: StreamPass) {
        if let readiness = self.state.withValue({ _ in pass.readiness }) {
            let observation = readiness.onChange { [weak self, weak pass] in
                if let pass { self?.refresh(pass) }
            }
            self.change { _, aftermath in
                if self.pass === pass { pass.observation = observation } else { aftermath.observation = observation }
            }
        }
        self.refresh(pass)
    }

    private enum Step {
        case done
        /// A thread uses the reader, perhaps this one, and looks afterwards.
        case busy
        /// Observers see a change: they are told before the next step.
        case again
        /// The opening is over: look at what is known of the bytes.
        case lookAtInfo(any StreamReader)
        /// The end or an error has come: a read confirms it.
        case probe(any StreamReader)
    }

    /// Follows what the reader of `pass` says, after each of its changes and after each read.
    func refresh(_ pass: StreamPass, afterReading: Bool = false) {
        var (info, afterReading) = (BlobInfo?.none, afterReading)
        while true {
            let step = self.change(delivers: false) { state, aftermath in
                self.follow(pass, info, afterReading: afterReading, &state, &aftermath)
            }
            switch step {
            case .busy: return
            case .done: return self.state.deliver()
            case .again: self.state.deliver()
            case .lookAtInfo(let reader): info = reader.info
            case .probe(let reader):
                _ = self.finishReading(pass, reader, Result { try reader.probe() })
                afterReading = false
            }
        }
    }

    private func follow(
        _ pass: StreamPass, _ info: BlobInfo?, afterReading: Bool, _ state: inout BlobStreamState,
        _ aftermath: inout Aftermath
    ) -> Step {
        guard self.pass === pass, let reader = pass.reader else { return .done }
        self.wakeWaiters(&aftermath)
        guard !pass.isBusy else { return .busy }
        let readiness = pass.readiness?.value
        let isOver = readiness.map { !$0.hasBytesAvailable && ($0.isAtEnd || $0.error != nil) } ?? false
        if !pass.isOpenCompleted {
            guard readiness?.isOpenOrFailed ?? true else { return self.awaitBytes(&state) }
            if isOver, readiness?.isOpenCompleted == false, readiness?.error != nil {
                pass.isBusy = true
                return .probe(reader)
            }
            guard let info else { return .lookAtInfo(reader) }
            self.completeOpening(pass, info, &state, &aftermath)
            return .again
        }
        let isAllRead = state.byteOffset == state.byteCount
        if isOver || (isAllRead && readiness?.isReady ?? true) {
            if state.hasBytesAvailable {
                state.hasBytesAvailable = false
                return .again
            }
            pass.isBusy = true
            return .probe(reader)
        }
        let hadBytes = state.hasBytesAvailable
        state.hasBytesAvailable = !isAllRead && readiness?.hasBytesAvailable ?? true
        guard state.hasBytesAvailable else { return self.awaitBytes(&state) }
        self.waitForBytes.end()
        if afterReading || !hadBytes { self.post(.hasBytesAvailable, &aftermath) }
        return .done
    }

    /// Nothing is there now. Where events are waited for, an idle limit or a deadline may end that. Under the lock.
    private func awaitBytes(_ state: inout BlobStreamState) -> Step {
        state.hasBytesAvailable = false
        if self.mode == .asynchronous || self.isScheduled { self.watchLimit() }
        return .done
    }

    private func watchLimit() {
        if let delay = self.waitForBytes.begin(self.context) { self.lookAtLimit(after: delay) }
    }

    func lookAtLimit() -> Duration? {
        self.change { state, aftermath in
            switch self.waitForBytes.look() {
            case .nobodyWaits: break
            case .lookAgain(let delay): return delay
            case .passed(let limit): self.fail(limit.error(idleLimit: self.context.idleLimit), &state, &aftermath)
            }
            return nil
        }
    }

    /// Has a cancellation end the stream also when nobody reads.
    func watch(_ pass: StreamPass) {
        let registration = pass.context.onCancel { [weak self, weak pass] in
            if let pass { self?.fail(BlobError(.cancelled, "The job was cancelled."), in: pass) }
        }
        self.change { _, _ in
            if self.pass === pass { pass.registration = registration }
        }
        withExtendedLifetime(registration) {}
    }

    func completeOpening(
        _ pass: StreamPass, _ info: BlobInfo, _ state: inout BlobStreamState, _ aftermath: inout Aftermath
    ) {
        if let error = self.changeOfLength(info) { return self.fail(error, &state, &aftermath) }
        pass.isOpenCompleted = true
        state.byteCount = info.byteCount
        self.validator = self.validator ?? info.validator
        self.declaredByteCount = self.declaredByteCount ?? info.byteCount
        guard state.phase == .opening else { return }  // Otherwise the offset was set.
        state.phase = .open
        state.isOpenCompleted = true
        self.post(.openCompleted, &aftermath)
    }

    /// The error of content that was opened again and has another length, for sources that have no validator.
    func changeOfLength(_ info: BlobInfo) -> BlobError? {
        guard self.validator == nil, let old = self.declaredByteCount, let new = info.byteCount, old != new else {
            return nil
        }
        return BlobError(.changed, "The source had \(old) bytes when it was opened first, and has \(new) now.")
    }
}
