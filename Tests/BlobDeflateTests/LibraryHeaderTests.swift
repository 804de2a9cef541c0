import CHeaders
import Testing

/// Our declarations of libraries that are loaded late, and those in the headers of the libraries, where they are
/// installed. A function with another prototype does not compile in `CHeaders`.
@Suite struct LibraryHeaderTests {
    @Test func ourConstantsSizesAndOffsetsAreThoseOfTheLibraries() {
        var libraryCount = 0
        let libraries = UnsafeBufferPointer(start: header_facts(&libraryCount), count: libraryCount)
        #expect(libraries.count == 6)
        for library in libraries {
            guard let real = library.real else { continue }
            for (ours, real) in zip(
                UnsafeBufferPointer(start: library.ours, count: library.count),
                UnsafeBufferPointer(start: real, count: library.count))
            {
                #expect(
                    ours.value == real.value,
                    "\(String(cString: library.library)): \(String(cString: ours.name)) is \(real.value)")
            }
        }
    }
}
