import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import Testing

/// Block devices, where this process may make one over a file: as root on Linux. One at a time: a device that one test
/// gives back would be the next that another one gets.
@Suite(.serialized, .enabled(if: LoopDevice.isAvailable)) struct BlockDeviceTests {
    private let bytes = Data((0..<70_144).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

    @Test func aDeviceHasALengthAndRandomAccess() throws {
        let device = try LoopDevice(self.bytes)
        let source = FileSource(path: device.path)
        #expect(source.traits == [.repeatable, .concurrentReaders])
        let info = try source.info()
        #expect(info.byteCount == 70_144 && info.isRandomAccess && info.validator == nil)
        #expect(try Data(readAll(source.open(at: 65_537))) == self.bytes[65_537...])
        #expect(throws: BlobError.self) { () throws in try source.open(at: 70_145) }
        #expect(violations(of: FileSource(path: device.path), expecting: self.bytes).isEmpty)
    }

    @Test func aDeviceWithoutAMediumIsEmpty() throws {
        let device = try LoopDevice(self.bytes)
        device.detach()
        let source = FileSource(path: device.path)
        #expect(try source.info().byteCount == nil)
        // Some systems refuse to open such a device.
        #expect((try? readAll(source.open())) ?? [] == [])
    }
}

/// A block device with the bytes of a file.
final class LoopDevice: Sendable {
    let path: String
    private let folder: TemporaryFolder

    /// - Parameter bytes: The content: whole sectors of 512 bytes.
    init(_ bytes: Data) throws {
        self.folder = try TemporaryFolder()
        let file = try self.folder.write(Array(bytes), to: "disk")
        let made = try FinishedProcess("losetup", ["--read-only", "--find", "--show", file])
        try #require(made.status == 0, "\(made.errors)")
        self.path = made.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit { self.detach() }

    func detach() { _ = try? FinishedProcess("losetup", ["--detach", self.path]) }

    static let isAvailable = (try? FinishedProcess("losetup", ["--find"]))?.status == 0 && getuid() == 0
}
