import BlobDeflate
import BlobStreams
import BlobTestSupport
import CZlib
import Foundation
import Testing

/// Each library alone, and each against the other.
@Suite struct BlockEndTests {
    struct Point: Equatable {
        var bitOffset: Int
        var byteOffset: Int
        var window: [UInt8] = []
    }

    static let streams: [(name: String, bytes: [UInt8], deflated: [UInt8])] = makeStreams(400_000)

    @Test(arguments: InflateLibrary.available, [1, 7, 1000, 65_536])
    func stoppingAtBlockEndsChangesNoByte(library: InflateLibrary, piece: Int) throws {
        for stream in makeStreams(piece < 1000 ? 2000 : 400_000) {
            var inflater = try Inflater(library)
            let (bytes, _, rest) = try decodeAll(&inflater, stream.deflated + [1, 2, 3], piece: piece, spacing: 1)
            #expect(bytes == stream.bytes && rest == [1, 2, 3], "\(stream.name)")
        }
    }

    @Test(arguments: InflateLibrary.available, InflateLibrary.available)
    func everyBlockEndIsAPlaceToBeginForEveryLibrary(finder: InflateLibrary, reader: InflateLibrary) throws {
        for stream in Self.streams {
            for (spacing, piece) in [(1, 65_536), (20_000, 65_536), (20_000, 3000), (100_000, 33_000)] {
                var inflater = try Inflater(finder)
                let (_, points, _) = try decodeAll(&inflater, stream.deflated, piece: piece, spacing: spacing)
                if stream.name.hasPrefix("level") && spacing == 1 { #expect(!points.isEmpty, "\(stream.name)") }
                var other = try Inflater(reader)
                for point in points.prefix(40) {
                    let begin = stream.bytes.prefix(point.byteOffset)
                    #expect(point.window == Array(begin.suffix(32_768)), "\(stream.name) at \(point.byteOffset)")
                    resume(&other, point, in: stream.deflated)
                    let start = (point.bitOffset + 7) / 8
                    let (bytes, _, _) = try decodeAll(
                        &other, Array(stream.deflated[start...]), piece: 65_536, spacing: .max)
                    #expect(bytes == Array(stream.bytes[point.byteOffset...]), "\(stream.name) at \(point.byteOffset)")
                }
            }
        }
    }

    @Test(arguments: InflateLibrary.available)
    func whatFollowsTheEndIsLeftOrGivenBack(library: InflateLibrary) throws {
        // In pieces of one byte, what was read ahead lies in earlier inputs.
        for stream in makeStreams(2000) {
            for count in 0...9 {
                let tail = (0..<count).map { UInt8($0) }
                var inflater = try Inflater(library)
                let (bytes, _, rest) = try decodeAll(&inflater, stream.deflated + tail, piece: 1, spacing: .max)
                #expect(bytes == stream.bytes && rest == tail, "\(stream.name), \(count)")
            }
        }
    }
}

private func resume(_ inflater: inout Inflater, _ point: BlockEndTests.Point, in deflated: [UInt8]) {
    let bit = point.bitOffset % 8
    let bits = bit == 0 ? 0 : deflated[point.bitOffset / 8] >> UInt8(bit)
    point.window.withUnsafeBytes { inflater.resume(bits: bits, bitCount: (8 - bit) % 8, window: $0) }
}

/// The decoded bytes, the ends of blocks with at least `spacing` bytes between them, and what follows the stream.
private func decodeAll(
    _ inflater: inout Inflater, _ input: [UInt8], piece: Int, spacing: Int
) throws -> ([UInt8], [BlockEndTests.Point], [UInt8]) {
    var (bytes, points) = ([UInt8](), [BlockEndTests.Point]())
    var (used, next) = (0, spacing)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(piece, 300), alignment: 1)
    let source = UnsafeMutableRawBufferPointer.allocate(byteCount: input.count, alignment: 1)
    source.copyBytes(from: input)
    defer {
        memory.deallocate()
        source.deallocate()
    }
    while true {
        var rest = UnsafeRawBufferPointer(rebasing: source[used..<min(input.count, used + piece)])
        let given = rest.count
        var output = OutputRawSpan(buffer: memory, initializedCount: 0)
        let stop = try inflater.decode(&rest, into: &output, stoppingAtBlockEnds: bytes.count >= next)
        used += given - rest.count
        let count = output.finalize(for: memory)
        bytes += memory.prefix(count)
        switch stop {
        case .streamEnd:
            var (surplus, back) = (inflater.surplus, [UInt8]())
            while let byte = surplus.popFirst() { back.append(byte) }
            return (bytes, points, back + input[used...])
        case .blockEnd:
            let end = inflater.blockEnd
            var point = BlockEndTests.Point(
                bitOffset: 8 * used - end.unreadBitCount, byteOffset: bytes.count + end.pendingByteCount)
            inflater.withWindow { point.window = Array($0) }
            points.append(point)
            next = spacing == .max ? .max : bytes.count + spacing
        case .more:
            if count == 0, used == input.count { return (bytes, points, []) }
        }
    }
}

/// Text and noise, compressed in many ways.
private func makeStreams(_ byteCount: Int) -> [(name: String, bytes: [UInt8], deflated: [UInt8])] {
    var random = SplitMix64(seed: 5)
    var mixed: [UInt8] = []
    while mixed.count < byteCount {
        if UInt8.random(in: 0...3, using: &random) == 0 {
            mixed += (0..<1000).map { _ in UInt8.random(in: 0...255, using: &random) }
        } else {
            mixed += Array("line \(Int.random(in: 0...99_999, using: &random)) of the text, and so on\n".utf8)
        }
    }
    var streams: [(String, [UInt8], [UInt8])] = []
    for level in [0, 1, 6, 9] {
        streams.append(("level \(level)", mixed, deflated(mixed, level: CInt(level))))
    }
    for (name, strategy) in [("fixed", Z_FIXED), ("Huffman only", Z_HUFFMAN_ONLY), ("runs", Z_RLE)] {
        streams.append((name, mixed, deflated(mixed, strategy: strategy)))
    }
    for flush in [Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH] {
        streams.append(("flush \(flush)", mixed, deflated(mixed, flush: flush)))
    }
    let zeros = [UInt8](repeating: 0, count: byteCount)
    streams.append(("zeros", zeros, deflated(zeros)))
    streams.append(("empty", [], deflated([])))
    streams.append(("one byte", [7], deflated([7])))
    return streams
}

/// - Parameter flush: What is asked for after every 777 bytes.
private func deflated(
    _ bytes: [UInt8], level: CInt = 6, strategy: CInt = Z_DEFAULT_STRATEGY, flush: CInt? = nil
) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
        &stream, level, Z_DEFLATED, -15, 8, strategy, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var output = [UInt8](repeating: 0, count: bytes.count * 2 + 100_000)
    let count = output.withUnsafeMutableBufferPointer { output in
        bytes.withUnsafeBufferPointer { bytes in
            stream.next_out = output.baseAddress
            stream.avail_out = uInt(output.count)
            for start in Swift.stride(from: 0, to: bytes.count, by: 777) where flush != nil {
                stream.next_in = bytes.baseAddress?.advanced(by: start)
                stream.avail_in = uInt(min(777, bytes.count - start))
                deflate(&stream, flush ?? Z_NO_FLUSH)
            }
            if flush == nil {
                stream.next_in = bytes.baseAddress
                stream.avail_in = uInt(bytes.count)
            }
            deflate(&stream, Z_FINISH)
            return output.count - Int(stream.avail_out)
        }
    }
    return Array(output.prefix(count))
}
