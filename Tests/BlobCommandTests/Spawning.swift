#if Command
import Foundation
import Testing

/// Both ends of what a standard descriptor of a process is.
struct Connection {
    /// Nil unless it is a pipe.
    let ours: CInt?
    /// Nil when it is closed.
    let theirs: CInt?
    let descriptor: CInt
    private let isPipe: Bool

    init(_ standard: Standard, to descriptor: CInt) throws {
        self.descriptor = descriptor
        switch standard {
        case .closed: (self.ours, self.theirs, self.isPipe) = (nil, nil, false)
        case .file(let file): (self.ours, self.theirs, self.isPipe) = (nil, file, false)
        case .pipe, .nonBlockingPipe:
            var ends: [CInt] = [-1, -1]
            try #require(pipe(&ends) == 0)
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            if descriptor == STDIN_FILENO { ends.reverse() }
            (self.ours, self.theirs, self.isPipe) = (ends[0], ends[1], true)
            if descriptor == STDIN_FILENO { _ = fcntl(ends[0], F_SETFL, O_NONBLOCK) }
            if case .nonBlockingPipe = standard { _ = fcntl(ends[1], F_SETFL, O_NONBLOCK) }
        }
    }

    func closeTheirs() {
        if self.isPipe { self.theirs.map { _ = close($0) } }
    }
}

/// Starts a process that handles signals as a new one does, and returns its number.
func spawn(_ launch: Launch, _ connections: [Connection]) throws -> pid_t {
    var actions = makeSpawnActions()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for connection in connections {
        if let theirs = connection.theirs {
            posix_spawn_file_actions_adddup2(&actions, theirs, connection.descriptor)
        } else {
            posix_spawn_file_actions_addclose(&actions, connection.descriptor)
        }
    }
    var attributes = makeSpawnAttributes()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    sigemptyset(&signals)
    for signal in launch.blockedSignals { sigaddset(&signals, signal) }
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, spawnFlags)

    let program = launch.prelude == nil ? launch.program : "/bin/sh"
    let shell = launch.prelude.map { ["-c", $0 + "; exec \"$0\" \"$@\"", launch.program] } ?? []
    let words = [Array(program.utf8)] + shell.map { Array($0.utf8) } + launch.arguments
    var pointers = words.map { strdup($0.map { CChar(bitPattern: $0) } + [0]) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var number: pid_t = 0
    // First, because the first of two counts. A process under the thread sanitizer would wait for a second at its end.
    let ours = [strdup("XDG_CACHE_HOME=\(launch.caches)"), strdup("TSAN_OPTIONS=atexit_sleep_ms=0")]
    defer { for pointer in ours { free(pointer) } }
    var environment = ours + environmentPointers() + [nil]
    let result = posix_spawn(&number, program, &actions, &attributes, &pointers, &environment)
    try #require(result == 0, "\(program): \(String(cString: strerror(result)))")
    return number
}

/// The environment of this process, as it is.
private func environmentPointers() -> [UnsafeMutablePointer<CChar>?] {
    var pointers: [UnsafeMutablePointer<CChar>?] = []
    while let pointer = environ[pointers.count] { pointers.append(pointer) }
    return pointers
}
#endif
