import BlobStreamsStandard
import ExampleProgram
import Foundation

// Reads a locator, and prints the changes seen by observers of its data source and of the stream over that source.
ExampleProgram.run("ObservedSource LOCATOR", taking: 1...1) { arguments, registry in
    let source = PublishingSource(try registry.source(for: arguments[0]))
    let stream = BlobInputStream(source, mode: .asynchronous)
    let state = stream.state
    let (isOver, isClosed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let observations = [
        source.state.observe(\.isOpenCompleted) { print("source: isOpenCompleted", $0.new ?? false) },
        source.state.observe(\.hasBytesAvailable) { print("source: hasBytesAvailable", $0.new ?? false) },
        source.state.observe(\.isAtEnd) {
            print("source: isAtEnd", $0.new ?? false)
            isOver.signal()
        },
        source.state.observe(\.error) {
            print("source: error", $0.new??.code.description ?? "")
            isOver.signal()
        },
        state.observe(\.phase) { change in
            print("stream:", change.old.map { "\($0) ->" } ?? "", change.new.map { "\($0)" } ?? "")
            if change.new == .closed { isClosed.signal() }
        },
        state.observe(\.byteOffset) { change in
            guard let byteOffset = change.new, let byteCount = state.value.byteCount, byteCount > 0 else { return }
            print("stream: \(100 * byteOffset / byteCount) %")
        },
    ]
    stream.open()
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while stream.read(&buffer, maxLength: buffer.count) > 0 {}
    let end = state.value
    // Another thread may still be notifying observers.
    if source.state.value.isAtEnd || source.state.value.error != nil { isOver.wait() }
    stream.close()
    isClosed.wait()
    for observation in observations { observation.cancel() }
    if let error = end.error { throw error }
}
