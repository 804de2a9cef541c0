import Foundation

/// Undoes for this thread what the threads of Dispatch hand down: that signals are blocked.
func letBeInterrupted(by signal: CInt) {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, signal)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
}

#if os(Linux)
func currentThreadNumber() -> Int32? {
    // proc(5): NUMBER/task/NUMBER.
    let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
    return link?.split(separator: "/").last.flatMap { Int32($0) }
}

func isSleeping(_ threadNumber: Int32) -> Bool {
    let status = (try? String(contentsOfFile: "/proc/self/task/\(threadNumber)/stat", encoding: .utf8)) ?? ""
    // proc(5): number, name in parentheses, state.
    return status.split(separator: ") ").last?.first == "S"
}

/// How many descriptors of this process are open on files below `folder`.
func openDescriptorCount(below folder: String) -> Int {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return descriptors.count { descriptor in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        return target?.hasPrefix(folder) ?? false
    }
}

/// Lets `signal` interrupt system calls, and do nothing else.
func letInterrupt(_ signal: CInt) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    sigaction(signal, &action, nil)
}
#else
func currentThreadNumber() -> Int32? { nil }

func isSleeping(_ threadNumber: Int32) -> Bool { true }

func openDescriptorCount(below folder: String) -> Int { 0 }

func letInterrupt(_ signal: CInt) {
    var action = sigaction()
    action.__sigaction_u.__sa_handler = { _ in }
    sigaction(signal, &action, nil)
}
#endif
