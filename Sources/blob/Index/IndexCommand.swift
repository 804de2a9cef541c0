import ArgumentParser

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Builds, lists, verifies and drops indexes for random access.",
        discussion: """
            An index holds restart points of compressed data and tables of members. It is a cache: a stale or damaged \
            index is built again, and all may be removed at any time.
            """,
        subcommands: [
            IndexBuildCommand.self, IndexShowCommand.self, IndexListCommand.self, IndexVerifyCommand.self,
            IndexSplitsCommand.self, IndexDropCommand.self,
        ])
}
