import ArgumentParser
import BlobStreamsStandard

/// The option of commands that take locators from lists.
///
/// A list is data, perhaps of others: what it names is opened with the credentials of the user, from inside of the
/// user's network.
struct ListedLocatorOptions: ParsableArguments {
    @Flag(
        name: .customLong("allow-network-in-lists"),
        help: ArgumentHelp(
            "Also open what the lines of a list name on web servers and in stores.",
            discussion: "They are errors without this. The servers get what the options here send, as for a locator."))
    var allowsNetwork = false

    /// Checks a locator that a line of a list names.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for one that reaches the network, unless that is allowed.
    func check(_ text: String, _ registry: BlobRegistry) throws(BlobError) {
        guard !self.allowsNetwork, let locator = try? registry.locator(for: text), registry.reachesNetwork(locator)
        else { return }
        throw BlobError(
            .invalidArgument,
            "The scheme '\(locator.scheme)' reaches the network, which a list does only with --allow-network-in-lists.",
            operation: "resolve", locator: locator.description)
    }

    /// Checks a line as ``check(_:_:)`` does; the error has its number.
    func check(
        _ text: String, _ registry: BlobRegistry, line number: Int, of list: String
    ) throws(BlobError) {
        do throws(BlobError) {
            try self.check(text, registry)
        } catch {
            throw error.inLine(number, of: list)
        }
    }
}
