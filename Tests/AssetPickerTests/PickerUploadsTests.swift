#if Receiver && Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetPicker

@Suite(.timeLimit(.minutes(5))) struct PickerUploadsTests {
    @Test func chosenAssetsArriveAndAMissingOneFails() async throws {
        let store = try TemporaryFolder()
        let receiver = try await Receiver(storingIn: store.path("store"))
        let picker = try Picker(4, url: receiver.url)
        for number in 0..<3 {
            try picker.folder.write(makeContent(200_000 + number), to: "\(number)")
        }
        try await picker.uploads.add(picker.assets)
        let end = await picker.uploads.queue.states.first { queue in
            queue.items.count { [.done, .failed].contains($0.phase) } == 4
        }
        #expect(end?.items.map(\.phase) == [.done, .done, .done, .failed])
        #expect(end?.items.last?.message?.isEmpty == false)
        for number in 0..<3 {
            let bytes = FileManager.default.contents(atPath: store.path("store/\(number)"))
            #expect(bytes == Data(makeContent(200_000 + number)))
            #expect(end?.items[number].sent == Int64(200_000 + number))
        }
        try picker.folder.write(makeContent(10), to: "3")
        try await picker.uploads.add([picker.assets[3]])
        let all = await picker.uploads.queue.states.first { $0.items.allSatisfy { $0.phase == .done } }
        #expect(all != nil)
        try await picker.uploads.clear()
        #expect(picker.uploads.queue.value.items.isEmpty)
    }

    @Test(arguments: [UploadForm.raw, .form]) func rawBodiesAndFormsArrive(form: UploadForm) async throws {
        let folder = try TemporaryFolder()
        try folder.write(makeContent(100_000), to: "film.mp4")
        let asset = PickerAsset(id: UUID().uuidString, name: "film.mp4", mediaType: nil, date: "", byteCount: 100_000)
        let missing = PickerAsset(id: "no file", name: "missing", mediaType: nil, date: "", byteCount: 0)
        let receiver = try await Receiver(storingIn: folder.path("store"))
        let uploads = try PickerUploads(
            of: FileCatalogue(folder: folder.url(""), files: [asset]), to: "\(receiver.url)body", as: form,
            keepingStateIn: folder.url(""), atOnce: 2)
        try await uploads.add([asset, missing])
        let task = Task { await uploads.run() }
        let end = await uploads.queue.states.first { queue in
            queue.items.allSatisfy { [.done, .failed].contains($0.phase) }
        }
        task.cancel()
        #expect(end?.items.map(\.phase) == [.done, .failed])
        // A raw body has the name of its URL, and a part of a form a name of its own.
        let path = folder.path(form == .raw ? "store/body" : "store/film.mp4")
        #expect(FileManager.default.contents(atPath: path) == Data(makeContent(100_000)))
    }

    @Test func theQueueOfAnEarlierRunGoesOn() async throws {
        let folder = try TemporaryFolder()
        try folder.write(makeContent(100_000), to: "film")
        let asset = PickerAsset(id: UUID().uuidString, name: "film", mediaType: nil, date: "", byteCount: 100_000)
        let catalogue = FileCatalogue(folder: folder.url(""), files: [asset])
        let earlier = try PickerUploads(
            of: catalogue, to: "http://127.0.0.1:9/", keepingStateIn: folder.url(""), atOnce: 1)
        try await earlier.add([asset])

        let receiver = try await Receiver(storingIn: folder.path("store"))
        let next = try PickerUploads(of: catalogue, to: receiver.url, keepingStateIn: folder.url(""), atOnce: 1)
        #expect(next.queue.value.items.map(\.phase) == [.waiting])
        let task = Task { await next.run() }
        _ = await next.queue.states.first { $0.items.allSatisfy { $0.phase == .done } }
        task.cancel()
        #expect(FileManager.default.contents(atPath: folder.path("store/film")) == Data(makeContent(100_000)))
    }

    @Test func aServerThatIsAwayIsWaitedFor() async throws {
        let folder = try TemporaryFolder()
        try folder.write(makeContent(100), to: "film")
        let asset = PickerAsset(id: UUID().uuidString, name: "film", mediaType: nil, date: "", byteCount: 100)
        // Port 9 of this machine refuses connections.
        let uploads = try PickerUploads(
            of: FileCatalogue(folder: folder.url(""), files: [asset]), to: "http://127.0.0.1:9/",
            keepingStateIn: folder.url(""), atOnce: 1)
        try await uploads.add([asset])
        let task = Task { await uploads.run() }
        let waiting = await uploads.queue.states.first { $0.items.first?.message != nil }
        #expect(waiting?.items.first?.phase == .uploading)
        // Cancelled, it makes room at once.
        try await uploads.remove(asset.id)
        #expect(uploads.queue.value.items.isEmpty)
        let missing = PickerAsset(id: "no file", name: "missing", mediaType: nil, date: "", byteCount: 0)
        try await uploads.add([missing])
        #expect(await uploads.queue.states.first { $0.items.first?.phase == .failed } != nil)
        task.cancel()
    }
}

/// A `blob-receive` that runs for as long as this object lives.
private final class Receiver: Sendable {
    let url: String
    private let process: Process

    init(storingIn folder: String) async throws {
        let process = Process()
        (self.process, self.url) = try await onThread {
            let pipe = Pipe()
            process.executableURL = productsFolder.appendingPathComponent("blob-receive")
            (process.arguments, process.standardOutput) = (["--directory", folder], pipe)
            try process.run()
            let line = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
            return (process, line.trimmingCharacters(in: .newlines))
        }
    }

    deinit {
        self.process.terminate()
        self.process.waitUntilExit()
    }
}
#endif
