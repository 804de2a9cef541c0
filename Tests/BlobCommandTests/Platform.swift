import Foundation

// What differs between the systems that the tests run on.
#if canImport(Darwin)
    typealias SpawnActions = posix_spawn_file_actions_t?
    typealias SpawnAttributes = posix_spawnattr_t?

    func makeSpawnActions() -> SpawnActions { nil }

    func makeSpawnAttributes() -> SpawnAttributes { nil }

    let spawnFlags = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT)

    func makeStreamSocket() -> CInt { socket(AF_INET, SOCK_STREAM, 0) }
#else
    typealias SpawnActions = posix_spawn_file_actions_t
    typealias SpawnAttributes = posix_spawnattr_t

    func makeSpawnActions() -> SpawnActions { SpawnActions() }

    func makeSpawnAttributes() -> SpawnAttributes { SpawnAttributes() }

    let spawnFlags = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)

    func makeStreamSocket() -> CInt { socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }
#endif

/// Whether there is a system call's worth of Linux: `/proc`, `/sys`, `/dev/full`, `ldd`.
let isLinux = FileManager.default.fileExists(atPath: "/dev/full")
