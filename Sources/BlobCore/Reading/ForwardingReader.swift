/// A reader that stands on another one, and passes on every call that it does not answer itself.
package protocol ForwardingReader: BlobReader {
    /// The reader below, which this one owns.
    var base: any BlobReader { get }
}

extension ForwardingReader {
    /// The facts known about the bytes of the base.
    public var info: BlobInfo { self.base.info }

    /// True once the base is open.
    public var isOpen: Bool { self.base.isOpen }

    /// True when the base never blocks.
    public var neverBlocks: Bool { self.base.neverBlocks }

    /// Passed on to the base.
    public func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }

    /// Closes the base.
    public func close() { self.base.close() }
}
