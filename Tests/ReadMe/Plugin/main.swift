import BlobStreamsStandard

// A plugin: squares:N has N bytes, which are computed where they are read, at any offset.
let squares = BlobProvider(
    .origin { locator, _ in
        guard let count = Int64(locator.schemeSpecificPart), count >= 0 else {
            throw BlobError(.invalidLocator, "A number of bytes follows 'squares:'.")
        }
        return ClosureSource(info: BlobInfo(byteCount: count)) { byteOffset, output, _ in
            for number in byteOffset..<byteOffset + min(Int64(output.freeCapacity), count - byteOffset) {
                output.append(UInt8(truncatingIfNeeded: number &* number))
            }
        }
    }, schemes: ["squares"])

var registry = BlobRegistry.standard
try registry.register(squares)
let source = try registry.source(for: "squares:1000000000000")
print(try Array(source.slice(17..<20).data(upTo: 3)))  // [33, 68, 105]
