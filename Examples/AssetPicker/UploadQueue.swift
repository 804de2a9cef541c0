#if Receiver && Photos
import Foundation

/// An asset that is uploaded or waiting to be uploaded.
struct UploadItem: Codable, Equatable, Sendable {
    enum Phase: String, Codable, Sendable {
        case waiting, uploading, done, failed
    }

    let id: String
    let name: String
    /// The length in bytes, which is an estimate until the upload begins.
    var byteCount: Int64
    /// The number of bytes sent so far.
    var sent: Int64 = 0
    var phase = Phase.waiting
    /// The last error since bytes were last sent; nil if no error has occurred.
    var message: String?
}

/// The uploads in the order in which they were chosen. The queue receives events, and returns the uploads to start.
struct UploadQueue: Equatable, Sendable {
    private(set) var items: [UploadItem]

    /// Increases with each change, and from one run of the server to the next.
    private(set) var version: Int

    /// - Parameters:
    ///   - items: The items of an earlier run, whose unfinished uploads wait again.
    ///   - version: A number greater than all versions of earlier runs.
    init(_ items: [UploadItem] = [], version: Int) {
        (self.items, self.version) = (items, version)
        for index in items.indices where items[index].phase == .uploading { self.items[index].phase = .waiting }
    }

    /// Adds assets. An asset already in the queue is retried if it failed, and ignored otherwise.
    mutating func add(_ assets: [PickerAsset]) {
        for asset in assets {
            if let index = self.items.firstIndex(where: { $0.id == asset.id }) {
                guard self.items[index].phase == .failed else { continue }
                (self.items[index].phase, self.items[index].message) = (.waiting, nil)
            } else {
                self.items.append(UploadItem(id: asset.id, name: asset.name, byteCount: asset.byteCount))
            }
        }
        self.version += 1
    }

    /// Returns the items to upload now, so that at most `count` uploads are in progress.
    ///
    /// - Parameter ending: The identifiers of uploads that were cancelled but have not yet ended.
    mutating func start(atMost count: Int, except ending: Set<String> = []) -> [UploadItem] {
        let room = count - self.items.count { $0.phase == .uploading }
        let indices = self.items.indices.filter {
            self.items[$0].phase == .waiting && !ending.contains(self.items[$0].id)
        }
        .prefix(max(0, room))
        for index in indices { self.items[index].phase = .uploading }
        if !indices.isEmpty { self.version += 1 }
        return indices.map { self.items[$0] }
    }

    /// Records that bytes of an upload were sent.
    mutating func record(_ sent: Int64, of byteCount: Int64?, _ id: String) {
        self.change(id) { ($0.sent, $0.byteCount, $0.message) = (sent, byteCount ?? $0.byteCount, nil) }
    }

    /// Records an error after which an upload continues.
    mutating func record(_ message: String, _ id: String) {
        self.change(id) { $0.message = message }
    }

    /// Records the end of an upload. Without a message, the upload succeeded.
    mutating func end(_ id: String, _ message: String?) {
        self.change(id) { item in
            (item.phase, item.message) = (message == nil ? .done : .failed, message)
            if message == nil { item.sent = item.byteCount }
        }
    }

    /// Records the end of a cancelled upload, after which another upload of the same asset may begin.
    mutating func endCancelled() { self.version += 1 }

    /// Removes an upload that the caller has cancelled.
    mutating func remove(_ id: String) {
        self.items.removeAll { $0.id == id }
        self.version += 1
    }

    /// Removes the uploads that have ended.
    mutating func clear() {
        self.items.removeAll { $0.phase == .done || $0.phase == .failed }
        self.version += 1
    }

    private mutating func change(_ id: String, _ change: (inout UploadItem) -> Void) {
        guard let index = self.items.firstIndex(where: { $0.id == id }) else { return }
        change(&self.items[index])
        self.version += 1
    }
}
#endif
