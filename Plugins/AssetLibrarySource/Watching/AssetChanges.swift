public import BlobCore
import Foundation

/// The changes of a library in their order, as they happen; an iteration ends only when its task is cancelled.
///
/// The journal keeps the last ``journalLimit`` changes at least. An iteration that falls behind them, or begins before
/// them, gets one change of the kind ``AssetChange/Kind/everything`` for all that it missed, and goes on after it. So
/// does one whose catalogue is replaced. Changes wait in the catalogue and not in memory.
public struct AssetChanges: AsyncSequence, Sendable {
    /// The number of changes that the journal keeps at least.
    public static let journalLimit = Catalogue.journalLimit

    let watch: AssetLibraryWatch
    let number: Int64

    /// Starts an iteration, which keeps the watch alive.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self.watch, after: self.number) }

    /// One pass over the changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private static let pageCount = 500

        private let watch: AssetLibraryWatch
        private var states: BlobSequence<AssetLibraryWatch.State, Never>.AsyncIterator
        private var resetCount: Int
        private var last: Int64
        private var page: ArraySlice<AssetChange> = []

        init(_ watch: AssetLibraryWatch, after number: Int64) {
            self.watch = watch
            self.states = watch.state.states.makeAsyncIterator()
            self.resetCount = watch.state.value.resetCount
            self.last = number
        }

        /// Returns the next change; nil after the task was cancelled.
        ///
        /// - Throws: Errors of the catalogue, after which the next call tries again.
        public mutating func next() async throws(BlobError) -> AssetChange? {
            while true {
                if let change = self.page.popFirst() {
                    self.last = change.number
                    return change
                }
                let (library, last) = (self.watch.library, self.last)
                let resetCount = self.watch.state.value.resetCount
                let page = try await BlockingPool.brief.value { () throws(BlobError) in
                    try library.catalogue.changes(behind: last, atMost: Self.pageCount)
                }
                if resetCount != self.resetCount {
                    self.resetCount = resetCount
                    self.page = [AssetChange(everythingUpTo: page.lastChange)]
                } else if !page.changes.isEmpty {
                    self.page = page.changes[...]
                } else if await self.states.next() == nil {
                    return nil
                }
            }
        }
    }
}

extension AssetLibraryWatch {
    /// Returns the changes after one, which may be of an earlier process.
    ///
    /// - Parameter number: The number of the last change that is known already; nil for the last one until now.
    public func changes(since number: Int64? = nil) -> AssetChanges {
        AssetChanges(watch: self, number: number ?? self.state.value.lastChange)
    }
}
