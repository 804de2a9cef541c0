/// A reader over another one, to which it forwards every call that it does not implement itself.
package protocol ForwardingReader: BlobPluginReader {
    /// The underlying reader, which this one owns.
    var base: any BlobPluginReader { get }
}

extension ForwardingReader {
    /// The facts known about the bytes of the base.
    public var info: BlobInfo { self.base.info }

    /// True once the base is open.
    public var isOpen: Bool { self.base.isOpen }

    /// True when the base never blocks.
    public var neverBlocks: Bool { self.base.neverBlocks }

    /// Forwards the waker to the base.
    public func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }

    /// Closes the base.
    public func close() { self.base.close() }
}
