/// The members of an audience, in the order in which they were added.
///
/// Found by their keys: a search would take as many steps as there are members, for each that is released.
struct Audience<Member> {
    private(set) var members: [Member] = []
    private var keys: [UInt64] = []  // Ascending.

    /// Adds a member. `key` must be larger than all keys before it.
    mutating func add(_ member: Member, key: UInt64) {
        self.members.append(member)
        self.keys.append(key)
    }

    /// Removes a member, if it is still there.
    ///
    /// - Complexity: O(log n) to find it; those after it are moved.
    mutating func remove(_ key: UInt64) {
        var (low, high) = (0, self.keys.count)
        while low < high {
            let middle = (low + high) / 2
            if self.keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        guard low < self.keys.count, self.keys[low] == key else { return }
        self.members.remove(at: low)
        self.keys.remove(at: low)
    }

    mutating func removeAll() { (self.members, self.keys) = ([], []) }
}
