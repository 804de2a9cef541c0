#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import AssetLibrarySource

/// The helper that decodes pictures, when it fails.
@Suite(.serialized) struct MediaProcessTests {
    static let hasVips = Self.hasLibrary(for: .pictures)

    static func hasLibrary(for task: MediaTask) -> Bool {
        (try? MediaProcess(for: task, BlobContext())) != nil
    }

    /// The error of a thumbnail of a small picture.
    private func error(
        fault: String? = nil, at path: String? = nil, limits: HelperLimits = MediaProcess.limits,
        variables: [String] = [], context: BlobContext = BlobContext()
    ) async throws -> BlobError? {
        let folder = try TemporaryFolder()
        let picture = try folder.write(Pictures.picture, to: "a.png")
        return await errorThrown {
            try await onThread {
                let process = try MediaProcess(
                    for: .pictures, at: path, limits: limits, variables: variables, fault: fault, context)
                let file = open(picture, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                return try process.thumbnail(of: file, size: 256)
            }
        }
    }

    @Test(.enabled(if: hasVips)) func theLibrarySaysItsVersion() async throws {
        let version = try await onThread { try MediaProcess(for: .pictures, BlobContext()).libraryVersion }
        #expect(version.hasPrefix("8."))
    }

    @Test(
        .enabled(if: hasVips),
        arguments: [("crash", "signal 11"), ("exit", "status 3"), ("open", "signal 10"), ("socket", "signal 31")])
    func aHelperThatCrashesIsNamed(fault: String, reason: String) async throws {
        let error = try await self.error(fault: "\(fault):thumbnail")
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains("blob-media-helper") == true && error?.message.contains(reason) == true)
    }

    @Test(.enabled(if: hasVips)) func aHelperThatComputesForEverHasALimit() async throws {
        var limits = MediaProcess.limits
        limits.maximumProcessorTime = 200
        let error = try await self.error(fault: "loop:thumbnail", limits: limits)
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains("without progress") == true, "\(error?.message ?? "")")
    }

    @Test(.enabled(if: hasVips)) func aHelperWithoutMemoryIsALimit() async throws {
        #expect(try await self.error(fault: "memory:thumbnail")?.code == .limitExceeded)
    }

    @Test func withoutAHelperNothingIsDecoded() async throws {
        let error = try await self.error(at: "/nowhere/helper")
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("/nowhere/helper") == true)
        #expect(try await self.error(at: "/bin/false")?.code == .unavailable)
    }

    @Test(.enabled(if: isLinux && hasVips), arguments: UnconfinedHelper.Calls.allCases)
    func aHelperThatIsNotConfinedIsUsedOnlyWhereThatIsAllowed(_ calls: UnconfinedHelper.Calls) async throws {
        let folder = try TemporaryFolder()
        let path = try UnconfinedHelper.make(of: "blob-media-helper", in: folder, refusing: calls)
        let error = try await self.error(at: path)
        #expect(error?.code == .unavailable && error?.isTransient == false)
        let missing = calls == .filter ? "no system call filter" : "no memory limit, no file limits"
        #expect(error?.message.contains("does not confine it: \(missing)") == true, "\(error?.message ?? "")")
        var context = BlobContext()
        context.allowsUnconfinedMedia = true
        #expect(try await self.error(at: path, context: context) == nil)
    }

    /// The loader of the system takes the first file of the name, and there it is none.
    @Test(.enabled(if: isLinux)) func aMissingLibraryIsNamedWithItsPackage() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("no library", to: "libvips.so.42")
        let error = try await self.error(variables: ["LD_LIBRARY_PATH=\(folder.path)"])
        #expect(error?.code == .unavailable)
        for word in ["libvips", "libvips42", "too short"] {
            #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
        }
    }

    @Test(.enabled(if: isLinux && hasVips), arguments: [SIGKILL, SIGSTOP])
    func aHelperThatIsKilledOrStoppedIsNotWaitedFor(signal: CInt) async {
        await #expect(processExitsWith: .success) { [signal] in
            var limits = MediaProcess.limits
            limits.maximumSilence = .milliseconds(300)
            let process = try MediaProcess(for: .pictures, limits: limits, BlobContext())
            let children = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").flatMap { task in
                try String(contentsOfFile: "/proc/self/task/\(task)/children", encoding: .utf8).split(separator: " ")
            }
            try #require(children.count == 1)
            kill(try #require(pid_t(children[0])), signal)
            let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
            let error = try #require(
                throws: BlobError.self, performing: { try process.thumbnail(of: file, size: 256) })
            try #require(error.code == (signal == SIGSTOP ? .timedOut : .corrupted))
            try #require(error.message.contains(signal == SIGSTOP ? "did not respond" : "signal 9"))
        }
    }

    /// The picture is in the pipe, or the helper still at work: either way its job is late.
    @Test(.enabled(if: hasVips)) func outputThatFlowsDoesNotOutlastTheJob() async throws {
        let folder = try TemporaryFolder()
        let picture = try folder.write(Pictures.picture, to: "a.png")
        let error = await errorThrown {
            try await onThread {
                let context = BlobContext(deadline: .now + .seconds(2))
                let process = try MediaProcess(for: .pictures, context)
                let file = open(picture, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                let late = WaitSignal()
                let timer = context.wake(after: .seconds(3), BlobWaker { late.signal() })
                defer { timer.cancel() }
                return try process.thumbnail(of: file, size: 256) { _ = late.wait(for: .seconds(60)) }
            }
        }
        #expect(error?.code == .timedOut)
    }

    @Test(.enabled(if: hasVips)) func aPictureBecomesASmallOne() async throws {
        let folder = try TemporaryFolder()
        let picture = try folder.write(Pictures.picture, to: "a.png")
        let thumbnail = try await onThread {
            let process = try MediaProcess(for: .pictures, BlobContext())
            let file = open(picture, O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            // The helper goes on after a file that is no picture.
            let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
            defer { close(nothing) }
            #expect(codeThrown { try process.thumbnail(of: nothing, size: 256) } == .corrupted)
            return try process.thumbnail(of: file, size: 2)
        }
        let media = MediaDescription(HeaderBytes(Array(try #require(thumbnail))))
        #expect(media.mediaType == "image/jpeg")
        #expect(media.pixelWidth == 2 && media.pixelHeight == 1)
    }

    /// A helper that computes for ever: the job ends by its own limits, and the helper with it.
    @Test(.enabled(if: isLinux && hasVips), arguments: [true, false])
    func aRenderingEndsWithItsJob(isCancelled: Bool) async {
        await #expect(processExitsWith: .success) { [isCancelled] in
            let folder = try TemporaryFolder()
            let picture = open(try folder.write(Pictures.picture, to: "a.png"), O_RDONLY | O_CLOEXEC)
            defer { close(picture) }
            let context = isCancelled ? BlobContext() : BlobContext(deadline: .now + .seconds(2))
            let process = try MediaProcess(for: .pictures, fault: "loop:render", context)
            let size = PictureSize(width: 4, height: 2)
            let plan = try RenderPlan([.orientation(3)], for: size)
            let output = try RenderingOutput(process, picture, plan, of: size, isJPEG: false, quality: 90)
            let children = try Self.children()
            try #require(children.count == 1)
            let (cancellation, start) = (context.cancellation, ContinuousClock.now)
            let timer = BlobContext().wake(after: .seconds(1), BlobWaker { if isCancelled { cancellation.cancel() } })
            defer { timer.cancel() }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
            defer { buffer.deallocate() }
            let error = try #require(throws: BlobError.self) { while try output.read(into: buffer) > 0 {} }
            try #require(error.code == (isCancelled ? .cancelled : .timedOut), "\(error)")
            // Far less than the limits of a helper; and neither the process nor a zombie is left.
            try #require(start.duration(to: .now) < .seconds(10))
            try #require(try Self.children().isEmpty)
        }
    }

    /// The processes that this one has started, also those that have ended and were not waited for.
    private static func children() throws -> [Substring] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").flatMap { task in
            try String(contentsOfFile: "/proc/self/task/\(task)/children", encoding: .utf8).split(separator: " ")
        }
    }
}
#endif
