/// The machine of a stream and the state that it publishes, under one lock: every event changes both.
struct LockedMachine<Machine, State: Equatable & Sendable>: ~Copyable, @unchecked Sendable {  // Safe: locked.
    let state: BlobObservable<State>
    // Behind a pointer: the lock ensures the exclusivity that Swift would otherwise check at each access.
    private let machine = UnsafeMutablePointer<Machine>.allocate(capacity: 1)

    init(_ machine: Machine, _ state: BlobObservable<State>) {
        self.state = state
        self.machine.initialize(to: machine)
    }

    deinit { self.machine.deinitialize(count: 1).deallocate() }

    /// Runs `body` under the lock, without changing the state that observers see.
    @inline(__always)
    func withLock<Result>(_ body: (inout Machine, State) -> Result) -> Result {
        self.state.withValue { body(&self.machine.pointee, $0) }
    }

    /// The machine; only to be used in an update of ``state``, which holds the lock.
    var locked: Machine {
        @inline(__always) get { self.machine.pointee }
        @inline(__always) nonmutating _modify { yield &self.machine.pointee }
    }
}
