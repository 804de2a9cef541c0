#if Command
import Foundation

// What differs between the systems that the tests run on.
#if canImport(Darwin)
typealias SpawnActions = posix_spawn_file_actions_t?
typealias SpawnAttributes = posix_spawnattr_t?

func makeSpawnActions() -> SpawnActions { nil }

func makeSpawnAttributes() -> SpawnAttributes { nil }

let spawnFlags = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT)
#else
typealias SpawnActions = posix_spawn_file_actions_t
typealias SpawnAttributes = posix_spawnattr_t

func makeSpawnActions() -> SpawnActions { SpawnActions() }

func makeSpawnAttributes() -> SpawnAttributes { SpawnAttributes() }

let spawnFlags = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
#endif
#endif
