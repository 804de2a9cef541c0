import BlobCore
import BlobTransfer

/// Checks the digests that header fields state. The bytes are the lines of the head of a response.
func checkDigests(_ bytes: [UInt8]) throws {
    var head = ResponseHead()
    do {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map(Array.init)
        for line in [Array("HTTP/1.1 200 OK".utf8)] + lines + [[]] {
            try line.withUnsafeBytes { try head.parse($0) }
        }
    } catch {
        try faultOfInput(error)
    }
    let fields = BlobStatedDigest.representationFields + BlobStatedDigest.contentFields
    for field in fields { try checkList(field, head.values(of: field.lowercased())) }
    let tag = head.tagDigest
    try require(tag?.value.count ?? 16 == 16, "a digest of another length than MD5 in the ETag")
    let digests = head.objectDigests
    for digest in digests + head.bodyDigests {
        let byteCount = StatedAlgorithm(rawValue: digest.algorithm)?.byteCount
        try require(digest.value.count == byteCount, "\(digest.value.count) bytes of \(digest.algorithm)")
    }
    try require(head.status == 206 || head.bodyDigests.allSatisfy(digests.contains), "a digest of the body is missing")
    let known = digests.filter { ["sha512", "sha256", "sha1", "md5", "crc32c"].contains($0.algorithm) }
    let again = BlobStatedDigest.list("Repr-Digest", [BlobStatedDigest.fieldValue(digests) ?? ""])
    try require(
        again.map(\.algorithm) == known.map(\.algorithm) && again.map(\.value) == known.map(\.value),
        "other digests when they are sent again")
    try checkComparison(with: digests + (tag.map { [$0] } ?? []))
}

/// Checks that a list in several fields is the list in one field (RFC 9110, section 5.3).
private func checkList(_ field: String, _ values: [String]) throws {
    let whole = BlobStatedDigest.list(field, values)
    try require(whole == values.flatMap { BlobStatedDigest.list(field, [$0]) }, "other digests, one by one")
    // A combining character after the comma would be one character with it.
    guard field != "Content-MD5", values.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) else { return }
    try require(whole == BlobStatedDigest.list(field, [values.joined(separator: ", ")]), "other digests in one field")
}

/// Checks that a content passes if the preferred algorithm gives all the digests stated by that algorithm, however its
/// bytes are added.
private func checkComparison(with digests: [BlobStatedDigest]) throws {
    let content = Array("hello world".utf8)
    guard var check = StatedDigestCheck(digests) else { return }
    let stated = Set(digests.map(\.algorithm))
    guard let algorithm = StatedAlgorithm.allCases.first(where: { stated.contains($0.rawValue) }),
        var hasher = algorithm.makeHasher()
    else {
        throw FuzzFailure(description: "a check without an algorithm")
    }
    content.withUnsafeBytes { bytes in
        hasher.update(bytes)
        check.append(UnsafeRawBufferPointer(rebasing: bytes[..<5]), at: 0)
        check.append(UnsafeRawBufferPointer(rebasing: bytes[3...]), at: 3)
    }
    let found = hasher.finalize()
    let isRight = digests.allSatisfy { $0.algorithm != algorithm.rawValue || $0.value == found }
    do {
        _ = try check.finish()
        try require(isRight, "a content with another \(algorithm.title) passes")
    } catch let error as BlobError {
        try require(error.code == .checksumMismatch && !isRight, "\(error)")
    }
}
