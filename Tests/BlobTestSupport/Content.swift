/// Makes bytes that do not repeat, the same in every run: each aligned word of four bytes occurs once.
package func makeContent(_ byteCount: Int) -> [UInt8] {
    let words = [UInt32](unsafeUninitializedCapacity: (byteCount + 3) / 4) { words, initializedCount in
        initializedCount = words.count
        guard var place = words.baseAddress else { return }
        let end = place + words.count
        var word: UInt32 = 0
        // Plain pointers, which are fast in a debug build.
        while place < end {
            place.initialize(to: word.littleEndian)
            // Knuth's multiplier: an odd number, so that no two products are the same.
            word &+= 2_654_435_761
            place += 1
        }
    }
    return words.withUnsafeBytes { [UInt8]($0.prefix(byteCount)) }
}
