/// An element of an XML document with namespaces, and the elements in it.
struct MarkupElement {
    /// The name of an element or an attribute, with its namespace instead of a prefix.
    struct Name: Hashable {
        /// The URI of the namespace; empty when there is none.
        var namespace: String
        var local: String
    }

    struct Attribute {
        var name: Name
        var value: String
        /// The range in the document, from the name to the closing quotation mark.
        var range: Range<Int>
    }

    var name: Name
    var attributes: [Attribute] = []
    var children: [MarkupElement] = []
    /// The text directly in this element, without that of its children.
    var text = ""
    /// The range in the document, from the first `<` to the last `>`.
    var range: Range<Int>

    /// The text without the white space around it.
    var trimmedText: String {
        let end = self.text.lastIndex { !$0.isWhitespace }.map { self.text.index(after: $0) }
        return String(self.text[..<(end ?? self.text.startIndex)].drop(while: \.isWhitespace))
    }
}
