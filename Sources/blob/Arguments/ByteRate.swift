import ArgumentParser

/// A number of bytes a second, from 1, with the units of ``ByteCount``.
struct ByteRate: ExpressibleByArgument {
    let bytesPerSecond: Int64

    init?(argument: String) {
        guard let count = ByteCount(argument: argument), count.value > 0 else { return nil }
        self.bytesPerSecond = count.value
    }
}
