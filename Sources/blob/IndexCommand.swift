import ArgumentParser

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Builds, shows and drops indexes for random access.",
        discussion: """
            An index holds restart points of compressed data and tables of members. It is a cache: a stale or damaged \
            index is built again, and all may be removed at any time.
            """,
        subcommands: [IndexBuildCommand.self, IndexShowCommand.self, IndexDropCommand.self])
}
