import ArgumentParser
import BlobStreamsStandard

/// The names of algorithms in one argument, separated by commas.
struct DigestNames: ExpressibleByArgument {
    let algorithms: [CryptoDigest]

    /// Finds the algorithms, ignoring case; nil if there is none of a name.
    init?(argument: String) {
        let names = argument.lowercased().split(separator: ",", omittingEmptySubsequences: false)
        self.algorithms = names.compactMap { name in CryptoDigest.all.first { $0.name == name } }
        if self.algorithms.count != names.count { return nil }
    }

    /// The names of all digests.
    static var allValueStrings: [String] { CryptoDigest.all.map(\.name) }
}

extension CryptoDigest {
    /// The length of a digest in bytes.
    var byteCount: Int {
        var hasher = self.makeHasher()
        return hasher.finalize().count
    }
}
