import BlobCore

extension RemoteBody: TransferSink {
    func begin(_ head: ResponseHead) throws(BlobError) -> TransferDisposition {
        let judgement = try self.judge(self, head)
        return try self.state.withLock { state throws(BlobError) in
            switch judgement {
            case .explanation: return .explain
            case .nothing: state.limit = state.blocks.start
            case .range(let range):
                let limit = min(range.upperBound, self.wanted.end ?? .max)
                (state.blocks, state.limit) = (ByteBlocks(at: range.lowerBound), limit)
                state.isExcessive = limit < range.upperBound
            case .object(let byteCount):
                (state.blocks, state.limit, state.isObject) = (ByteBlocks(at: 0), byteCount, true)
            }
            state.hasHead = true
            if case .nothing = judgement { return .drop }
            return .deliver
        }
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (isTaken, isTooLong, isWrong) = self.state.withLock { state in
            let room = state.limit.map { Int(clamping: $0 - state.blocks.end) } ?? .max
            let isTooLong = bytes.count > room
            let isWrong = isTooLong && !state.isExcessive
            state.isPaused = !isWrong && (state.isFull || state.isOver)
            let isTaken = !isWrong && !state.isPaused
            if isTaken { state.blocks.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(room))) }
            return (isTaken, isTooLong, isWrong)
        }
        if isWrong {
            self.end(BlobError(.corrupted, "The answer has more bytes than its header says."))
        } else if isTaken, isTooLong {
            self.end(nil)
        }
        return isTaken && !isTooLong
    }

    func flush() {
        let slots = self.state.withLock { state in
            Array(state.slots.values)
        }
        for slot in slots { slot.fire() }
    }

    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        let mayRepeat = self.state.withLock { $0.repetition != nil }
        if mayRepeat, self.requests.corrects(head, explanation) { self.state.withLock { $0.isCorrected = true } }
        return self.requests.refusal(head, explanation)
    }

    func end(_ error: BlobError?) {
        let repetition = self.state.withLock { state in
            guard state.isCorrected, !state.isOver else {
                return nil as (fields: [BlobHTTPField], idleLimit: Duration?)?
            }
            (state.isCorrected, state.transfer) = (false, nil)
            return state.repetition.take()
        }
        if let repetition { return self.request(repetition.fields, repetition.idleLimit) }
        let (transfer, failure) = self.state.withLock { state -> (Transfer?, BlobError?) in
            guard !state.isOver else { return (nil, nil) }
            state.isOver = true
            state.failure = error ?? state.shortage
            if state.failure == nil { state.limit = state.blocks.end }
            let transfer = state.transfer.take()
            return (state.failure != nil || state.isExcessive ? transfer : nil, state.failure)
        }
        transfer?.cancel()
        if let failure { self.onFailure(self, failure) }
        self.flush()
    }
}
