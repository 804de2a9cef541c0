/// A step of rendering, as sent to the helper.
package enum RenderStep: Equatable, Sendable {
    case crop(left: Int, top: Int, width: Int, height: Int)
    /// An orientation number (TIFF 6.0, tag 274), 1 to 8.
    case orientation(Int)
    /// Moves (x, y) to (a x + c y + tx, b x + d y + ty) in a picture of the given size. The numbers are a, b, c, d, tx
    /// and ty; the centre of the first pixel is at (0.5, 0.5).
    case affine([Double], width: Int, height: Int)
    /// A table of 256 bytes, which replaces the samples of all channels.
    case table([UInt8])

    /// The maximum number of steps.
    package static let maximumCount = 256

    /// Encodes steps as 64-bit numbers: for each step its kind, the count of its numbers, and the numbers.
    package static func encoded(_ steps: [RenderStep]) -> [UInt8] {
        steps.flatMap { step -> [Int64] in
            let (kind, numbers) = step.numbers
            return [kind, Int64(numbers.count)] + numbers
        }.flatMap { number in withUnsafeBytes(of: number) { Array($0) } }
    }

    /// Decodes steps; nil if the bytes are invalid.
    package static func decoded(_ bytes: [UInt8]) -> [RenderStep]? {
        let size = MemoryLayout<Int64>.size
        guard bytes.count % size == 0 else { return nil }
        var rest = bytes.withUnsafeBytes { bytes in
            (0..<(bytes.count / size)).map { bytes.loadUnaligned(fromByteOffset: $0 * size, as: Int64.self) }
        }[...]
        var steps: [RenderStep] = []
        while let kind = rest.popFirst() {
            guard let count = rest.popFirst(), (0...Int64(rest.count)).contains(count), steps.count < Self.maximumCount,
                let step = RenderStep(kind, Array(rest.prefix(Int(count))))
            else { return nil }
            steps.append(step)
            rest = rest.dropFirst(Int(count))
        }
        return steps
    }

    private var numbers: (kind: Int64, numbers: [Int64]) {
        switch self {
        case .crop(let left, let top, let width, let height): (1, [left, top, width, height].map { Int64($0) })
        case .orientation(let number): (2, [Int64(number)])
        case .affine(let matrix, let width, let height):
            (3, matrix.map { Int64(bitPattern: $0.bitPattern) } + [Int64(width), Int64(height)])
        case .table(let table): (4, table.map { Int64($0) })
        }
    }

    private init?(_ kind: Int64, _ numbers: [Int64]) {
        let edges = Int64(0)...65_535
        switch (kind, numbers.count) {
        case (1, 4) where numbers.allSatisfy(edges.contains) && numbers[2] > 0 && numbers[3] > 0:
            self = .crop(
                left: Int(numbers[0]), top: Int(numbers[1]), width: Int(numbers[2]), height: Int(numbers[3]))
        case (2, 1) where (1...8).contains(numbers[0]): self = .orientation(Int(numbers[0]))
        case (3, 8) where numbers[6...].allSatisfy { $0 > 0 && edges.contains($0) }:
            let matrix = numbers[..<6].map { Double(bitPattern: UInt64(bitPattern: $0)) }
            guard matrix.allSatisfy(\.isFinite) else { return nil }
            self = .affine(matrix, width: Int(numbers[6]), height: Int(numbers[7]))
        case (4, 256):
            let table = numbers.compactMap { UInt8(exactly: $0) }
            guard table.count == numbers.count else { return nil }
            self = .table(table)
        default: return nil
        }
    }
}
