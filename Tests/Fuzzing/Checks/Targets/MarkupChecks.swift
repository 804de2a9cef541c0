import BlobCore
import BlobHelper

/// Checks that a document has the stated limits, that its parts are where they are said to be, and that it is the same
/// when it is written again; and that nothing is left of the adjustments of an XMP packet.
func checkMarkup(_ bytes: [UInt8]) throws {
    let root: MarkupElement
    do throws(BlobError) {
        root = try MarkupElement.parse(bytes)
    } catch {
        try require([.corrupted, .limitExceeded].contains(error.code), "No fault of the document: \(error)")
        try require((0...Int64(bytes.count)).contains(error.byteOffset ?? 0), "an error beyond the end")
        return
    }
    var textByteCount = 0
    try checkElement(root, in: bytes, depth: 1, &textByteCount)
    try require(textByteCount <= bytes.count, "more text than the document has bytes")
    if let text = rendered(root) {
        guard let again = try? MarkupElement.parse(text) else {
            throw FuzzFailure(description: "invalid when it is written again")
        }
        try require(areSame(root, again), "another document when it is written again")
    }
    guard let packet = XMPPacket.withoutAdjustments(bytes) else {
        throw FuzzFailure(description: "an invalid packet in a valid document")
    }
    do {
        try require(try XMPPacket(packet).adjustments.isEmpty, "adjustments remain")
    } catch let error as BlobError {
        throw FuzzFailure(description: "invalid without its adjustments: \(error)")
    }
}

private func checkElement(
    _ element: MarkupElement, in bytes: [UInt8], depth: Int, _ textByteCount: inout Int
) throws {
    try require(depth <= MarkupElement.maximumDepth, "deeper than the limit")
    try require(bytes[element.range.lowerBound] == UInt8(ascii: "<"), "an element that does not begin with '<'")
    try require(bytes[element.range.upperBound - 1] == UInt8(ascii: ">"), "an element that does not end with '>'")
    var end = element.range.lowerBound
    for range in element.attributes.map(\.range) + element.children.map(\.range) {
        try require(range.lowerBound > end && range.upperBound < element.range.upperBound, "ranges that overlap")
        end = range.upperBound - 1
    }
    textByteCount += element.text.utf8.count + element.attributes.reduce(0) { $0 + $1.value.utf8.count }
    for child in element.children { try checkElement(child, in: bytes, depth: depth + 1, &textByteCount) }
}

private func areSame(_ one: MarkupElement, _ other: MarkupElement) -> Bool {
    one.name == other.name && one.text == other.text
        && one.attributes.elementsEqual(other.attributes) { $0.name == $1.name && $0.value == $1.value }
        && one.children.elementsEqual(other.children, by: areSame)
}

/// Returns a document with this root element; nil if a name begins with a combining character, which would be one
/// character with the colon before it.
private func rendered(_ element: MarkupElement) -> [UInt8]? {
    let names = [element.name] + element.attributes.map(\.name)
    guard names.allSatisfy({ "n:\($0.local)".dropFirst(2) == $0.local }) else { return nil }
    var text = "<n:\(element.name.local) xmlns:n=\"\(escaped(element.name.namespace))\""
    for (index, attribute) in element.attributes.enumerated() {
        text += " xmlns:a\(index)=\"\(escaped(attribute.name.namespace))\""
        text += " a\(index):\(attribute.name.local)=\"\(escaped(attribute.value))\""
    }
    var bytes = Array("\(text)>\(escaped(element.text))".utf8)
    for child in element.children {
        guard let child = rendered(child) else { return nil }
        bytes += child
    }
    return bytes + Array("</n:\(element.name.local)>".utf8)
}

private func escaped(_ text: String) -> String {
    let references = [0x26: "&amp;", 0x3C: "&lt;", 0x3E: "&#62;", 0x22: "&quot;", 0x27: "&#x27;"] as [UInt8: String]
    return String(decoding: text.utf8.flatMap { references[$0].map { Array($0.utf8) } ?? [$0] }, as: UTF8.self)
}
