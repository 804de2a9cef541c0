/// Makes bytes that do not repeat, the same in every run: each aligned word of four bytes occurs once.
package func makeContent(_ byteCount: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        for start in stride(from: 0, to: byteCount, by: 4) {
            // Knuth's multiplier: an odd number, so that no two products are the same.
            withUnsafeBytes(of: (UInt32(truncatingIfNeeded: start / 4) &* 2_654_435_761).littleEndian) { word in
                UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyBytes(from: word.prefix(byteCount - start))
            }
        }
        initializedCount = byteCount
    }
}
