#if Receiver && Photos
import Foundation
import Testing

@testable import AssetPicker

@Suite struct UploadQueueTests {
    private let assets = (0..<4).map { number in
        PickerAsset(id: UUID().uuidString, name: "\(number).jpg", mediaType: "image/jpeg", date: "", byteCount: 100)
    }

    @Test func uploadsStartInTheOrderOfChoice() {
        var queue = UploadQueue(version: 7)
        queue.add(self.assets)
        #expect(queue.start(atMost: 2).map(\.name) == ["0.jpg", "1.jpg"])
        #expect(queue.start(atMost: 2).isEmpty)
        queue.end(self.assets[1].id, nil)
        #expect(queue.start(atMost: 2).map(\.name) == ["2.jpg"])
        #expect(queue.items.map(\.phase) == [.uploading, .done, .uploading, .waiting])
        #expect(queue.items[1].sent == 100)
    }

    @Test func eachChangeHasANewVersion() {
        var queue = UploadQueue(version: 7)
        var versions = [queue.version]
        let changes: [(inout UploadQueue) -> Void] = [
            { $0.add(self.assets) }, { _ = $0.start(atMost: 1) }, { $0.record(5, of: 90, self.assets[0].id) },
            { $0.record("lost", self.assets[0].id) }, { $0.end(self.assets[0].id, nil) }, { $0.clear() },
        ]
        for change in changes {
            change(&queue)
            versions.append(queue.version)
        }
        #expect(Set(versions).count == 7 && versions == versions.sorted())
        let before = queue
        _ = queue.start(atMost: 0)
        queue.record(5, of: nil, "another")
        #expect(queue == before)
    }

    @Test func anErrorIsShownUntilBytesAreSent() {
        var queue = UploadQueue(version: 0)
        queue.add(self.assets)
        queue.record("lost", self.assets[0].id)
        #expect(queue.items[0].message == "lost")
        queue.record(50, of: 120, self.assets[0].id)
        #expect(queue.items[0].message == nil && queue.items[0].sent == 50 && queue.items[0].byteCount == 120)
    }

    @Test func onlyWhatFailedIsTriedAgain() {
        var queue = UploadQueue(version: 0)
        queue.add(self.assets)
        _ = queue.start(atMost: 2)
        queue.end(self.assets[0].id, "refused")
        queue.end(self.assets[1].id, nil)
        queue.add(self.assets)
        #expect(queue.items.count == 4)
        #expect(queue.items.map(\.phase) == [.waiting, .done, .waiting, .waiting])
        #expect(queue.items[0].message == nil)
    }

    @Test func theNextRunGoesOn() {
        var queue = UploadQueue(version: 0)
        queue.add(self.assets)
        _ = queue.start(atMost: 2)
        queue.end(self.assets[0].id, nil)
        let next = UploadQueue(queue.items, version: 1)
        #expect(next.items.map(\.phase) == [.done, .waiting, .waiting, .waiting])
        queue.end(self.assets[1].id, "refused")
        queue.clear()
        #expect(queue.items.map(\.name) == ["2.jpg", "3.jpg"])
        queue.remove(self.assets[2].id)
        #expect(queue.items.map(\.name) == ["3.jpg"])
    }
}
#endif
