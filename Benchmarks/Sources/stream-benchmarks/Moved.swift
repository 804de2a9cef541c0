/// A value that one thread hands to another.
struct Moved<Value>: @unchecked Sendable {  // Safe: the first thread does not use it at the same time.
    let value: Value

    init(_ value: Value) { self.value = value }
}
