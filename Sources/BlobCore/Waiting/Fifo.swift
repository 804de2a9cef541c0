/// A first-in, first-out queue. Adding and removing an element is cheap, regardless of the length of the queue.
package struct Fifo<Element> {
    private var elements: [Element?] = []  // Elements before `start` were removed.
    private var start = 0

    package init() {}

    package var count: Int { self.elements.count - self.start }
    package var isEmpty: Bool { self.count == 0 }

    /// The elements, oldest first.
    package var all: [Element] { self.elements[self.start...].compactMap { $0 } }

    /// The oldest element; nil if the queue is empty.
    package var first: Element? { self.isEmpty ? nil : self.elements[self.start] }

    /// The newest element; nil if the queue is empty.
    var last: Element? {
        get { self.isEmpty ? nil : self.elements[self.elements.count - 1] }
        set { self.elements[self.elements.count - 1] = newValue }
    }

    package mutating func append(_ element: Element) { self.elements.append(element) }

    package mutating func popFirst() -> Element? {
        guard !self.isEmpty else { return nil }
        let element = self.elements[self.start].take()
        self.start += 1
        if self.start * 2 >= self.elements.count {
            self.elements.removeFirst(self.start)
            self.start = 0
        }
        return element
    }
}
