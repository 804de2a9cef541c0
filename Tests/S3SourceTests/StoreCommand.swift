import BlobCore
import BlobTestSupport
import Foundation

@testable import S3Source

/// The command, as a process.
enum StoreCommand {
    private static let path = productsFolder.appendingPathComponent("blob").path

    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> FinishedProcess {
        try await onThread { try FinishedProcess(self.path, arguments, environment: environment) }
    }

    /// Runs the command, interrupts it once `body` returns, and again once `second` does, and waits for its end.
    static func interrupt(
        _ arguments: [String], environment: [String: String] = [:], after body: () async throws -> Void,
        and second: (() async -> Void)? = nil
    ) async throws -> (status: Int32, errors: String) {
        let (process, errors) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: self.path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardError = errors
        try process.run()
        let running = UnsafeTransfer(process)
        do {
            try await body()
        } catch {
            process.terminate()
            throw error
        }
        process.interrupt()
        if let second {
            await second()
            process.interrupt()
        }
        let text = try await onThread {
            let data = errors.fileHandleForReading.readDataToEndOfFile()
            running.value.waitUntilExit()
            return String(decoding: data, as: UTF8.self)
        }
        return (process.terminationStatus, text)
    }
}

extension StoringStore {
    /// The variables by which the command finds this store.
    var environment: [String: String] {
        [
            "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:\(self.port)", "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": VerifyingStore.keys.identifier, "AWS_SECRET_ACCESS_KEY": VerifyingStore.keys.secret,
            "AWS_SESSION_TOKEN": VerifyingStore.keys.sessionToken ?? "",
        ]
    }
}
