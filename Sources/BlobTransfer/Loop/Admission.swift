import BlobCore

/// The transfers whose hosts are looked up, and those that wait until fewer are.
///
/// libcurl starts a thread for each lookup that its cache does not answer, and cannot end it: a lookup counts until it
/// is over, also when its transfer was cancelled.
struct Admission {
    /// The maximum number of lookups at a time.
    static let maximumLookupCount = 32

    private var queue = Fifo<any LoopTransfer>()

    /// The requests whose host has no address yet.
    private var lookups: [UnsafeMutableRawPointer: CurlHandle] = [:]

    var isEmpty: Bool { self.queue.isEmpty && self.lookups.isEmpty }

    /// The transfers that wait, in their order. Some may have ended.
    var waiting: [any LoopTransfer] { self.queue.all }

    /// True when a transfer can begin.
    var hasNext: Bool { !self.queue.isEmpty && self.lookups.count < Self.maximumLookupCount }

    mutating func enqueue(_ transfer: any LoopTransfer) { self.queue.append(transfer) }

    /// Takes the transfer that begins next; nil when there is none, or no room.
    mutating func next() -> (any LoopTransfer)? { self.hasNext ? self.queue.popFirst() : nil }

    /// Takes all transfers that wait.
    mutating func takeQueue() -> [any LoopTransfer] {
        defer { self.queue = Fifo() }
        return self.waiting
    }

    mutating func begin(_ identity: UnsafeMutableRawPointer, _ handle: CurlHandle) {
        self.lookups[identity] = handle
    }

    /// Returns true when a request has to stay until its lookup is over.
    func holds(_ identity: UnsafeMutableRawPointer) -> Bool { self.lookups[identity] != nil }

    /// Takes a request that has ended.
    mutating func take(_ identity: UnsafeMutableRawPointer) -> CurlHandle? {
        self.lookups.removeValue(forKey: identity)
    }

    /// Takes the requests whose lookup is over.
    mutating func takeHandlesWithAddress() -> [UnsafeMutableRawPointer: CurlHandle] {
        let found = self.lookups.filter(\.value.hasAddress)
        for identity in found.keys { self.lookups[identity] = nil }
        return found
    }

    /// Takes all requests.
    mutating func takeAll() -> [CurlHandle] {
        defer { self.lookups = [:] }
        return Array(self.lookups.values)
    }
}
