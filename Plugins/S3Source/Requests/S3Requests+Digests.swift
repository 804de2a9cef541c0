import BlobCore
import BlobPlatform
import BlobTransfer

extension S3Requests {
    /// The maximum length in bytes for which computing an MD5 takes no longer than a request.
    private static let maximumMD5ByteCount: Int64 = 8 << 20
    /// The maximum time without activity in a search, so that an unresponsive store does not stop the reading.
    private static let searchIdleLimit = Duration.seconds(5)
    /// The maximum length in bytes of a list of 1,000 parts; such a list has about 250 KiB.
    private static let maximumListByteCount = 1 << 20

    /// Requests the checksums that a store does not state in responses to range requests.
    ///
    /// Makes one HEAD request for each version of an object that is read from its start, if the ETag is not the MD5 or
    /// the object has 8 MiB or more. If the checksum is composed of the checksums of the parts (`COMPOSITE`), makes one
    /// more request for each 1,000 parts. If a store refuses these requests, or does not respond within 5 seconds, no
    /// digests are found.
    func findDigests(
        of info: BlobInfo, tag: String?, _ cancellation: BlobCancellation,
        _ completion: @escaping @Sendable ([StatedRange]) -> Void
    ) {
        let isMD5 = info.digests.allSatisfy { $0.algorithm == StatedAlgorithm.md5.rawValue }
        guard let byteCount = info.byteCount, byteCount > 0, let tag, info.validator?.isStrong == true,
            info.digests.isEmpty || isMD5 && byteCount >= Self.maximumMD5ByteCount
        else { return completion([]) }
        self.send(S3Call(method: "HEAD", fields: [Self.checksumMode]), cancellation) { answer in
            guard let head = answer?.head, head.value(of: "etag") == tag else { return completion([]) }
            let digests = head.objectDigests
            if !digests.isEmpty { return completion([StatedRange(0, byteCount, digests)]) }
            guard let composite = CompositeChecksum(head, byteCount) else { return completion([]) }
            self.findParts(of: composite, cancellation, completion)
        }
    }

    /// Requests the parts of a composite checksum that follow the known parts.
    private func findParts(
        of composite: CompositeChecksum, _ cancellation: BlobCancellation,
        _ completion: @escaping @Sendable ([StatedRange]) -> Void
    ) {
        let fields = [
            BlobHTTPField("x-amz-object-attributes", "ObjectParts"),
            BlobHTTPField("x-amz-part-number-marker", String(composite.lastNumber)),
        ]
        self.send(S3Call(parameters: [("attributes", "")], fields: fields), cancellation) { answer in
            var composite = composite
            guard let answer, let document = try? MarkupElement.parse(answer.body), composite.add(document) else {
                return completion([])
            }
            if composite.isComplete { return completion(composite.isRight ? composite.parts : []) }
            self.findParts(of: composite, cancellation, completion)
        }
    }

    /// Makes a request and passes on the response; nil if the response is a refusal, and after any error.
    private func send(
        _ call: S3Call, _ cancellation: BlobCancellation, _ completion: @escaping @Sendable (CollectedAnswer?) -> Void
    ) {
        self.service.keys.find { keys in
            let registration = Locked<BlobRegistration?>(nil)
            do {
                var request = try self.request(call, [], keys.get())
                request.idleLimit = Self.searchIdleLimit
                let transfer = try request.start(upTo: Self.maximumListByteCount) { result in
                    _ = registration.take()
                    let answer = try? result.get()
                    completion(answer?.head.isSuccess == true ? answer : nil)
                }
                let cancelling = cancellation.onCancel { transfer.cancel() }
                registration.withLock { $0 = cancelling }
            } catch {
                completion(nil)
            }
        }
    }
}

/// A checksum computed from the checksums of an object's parts rather than from its bytes.
private struct CompositeChecksum {
    private let algorithm: StatedAlgorithm
    private let value: [UInt8]
    private let byteCount: Int64
    private let count: Int
    /// The parts so far, in order, and the number of the last one.
    private(set) var (parts, lastNumber): ([StatedRange], Int) = ([], 0)

    /// Creates a checksum; fails if the head does not state a composite checksum.
    init?(_ head: ResponseHead, _ byteCount: Int64) {
        for algorithm in StatedAlgorithm.allCases {
            let words = head.value(of: "x-amz-checksum-\(algorithm.rawValue)")?.split(separator: "-") ?? []
            guard words.count == 2, let count = Int(words[1]), (1...10_000).contains(count),
                let value = Data(base64Encoded: String(words[0]))
            else { continue }
            (self.algorithm, self.value, self.byteCount, self.count) = (algorithm, Array(value), byteCount, count)
            return
        }
        return nil
    }

    /// Adds the parts in a list; returns false if the list is empty, or if a part has no checksum or is out of order.
    mutating func add(_ document: MarkupElement) -> Bool {
        let list = document.children.first { $0.name.local == "ObjectParts" }?.children ?? []
        let (known, name) = (self.parts.count, "Checksum\(self.algorithm.rawValue.uppercased())")
        for part in list where part.name.local == "Part" {
            let start = self.parts.last?.end ?? 0
            guard let number = part.text(of: "PartNumber").flatMap({ Int($0) }), number > self.lastNumber,
                let size = part.text(of: "Size").flatMap({ Int64($0) }), size > 0, size <= self.byteCount - start,
                let value = part.text(of: name).flatMap({ Data(base64Encoded: $0) }),
                value.count == self.algorithm.byteCount
            else { return false }
            let origin = "x-amz-checksum-\(self.algorithm.rawValue) of \(self.count) parts"
            let digest = BlobStatedDigest(self.algorithm.rawValue, Array(value), origin: origin)
            self.parts.append(StatedRange(start, start + size, [digest]))
            self.lastNumber = number
        }
        return self.parts.count > known
    }

    var isComplete: Bool { self.parts.count >= self.count }

    /// True if the parts cover the whole object and their checksums produce this checksum.
    var isRight: Bool {
        var hasher = self.algorithm.makeHasher()
        for part in self.parts { part.digests[0].value.withUnsafeBytes { hasher?.update($0) } }
        return self.parts.count == self.count && self.parts.last?.end == self.byteCount
            && hasher?.finalize() == self.value
    }
}
