import BlobCore

/// The properties in an XMP packet (ISO 16684-1).
struct XMPPacket {
    /// A property: a text, or a list of texts.
    struct Property {
        var name: MarkupElement.Name
        /// The text of a simple property; nil for any other.
        var text: String?
        /// The texts of an array; empty for any other.
        var items: [String] = []
        /// The range in the packet of the attribute or the element.
        var range: Range<Int>
    }

    private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

    /// The properties in the order of the packet.
    let properties: [Property]

    /// - Throws: ``BlobError/Code/corrupted`` for an invalid packet, ``BlobError/Code/limitExceeded``.
    init(_ bytes: [UInt8]) throws(BlobError) {
        var properties: [Property] = []
        Self.read(try MarkupElement.parse(bytes), into: &properties)
        self.properties = properties
    }

    private static func read(_ element: MarkupElement, into properties: inout [Property]) {
        guard element.name == .init(namespace: self.rdf, local: "Description") else {
            for child in element.children { self.read(child, into: &properties) }
            return
        }
        for attribute in element.attributes where attribute.name.namespace != self.rdf {
            properties.append(Property(name: attribute.name, text: attribute.value, range: attribute.range))
        }
        for child in element.children {
            var property = Property(name: child.name, range: child.range)
            if let container = child.children.first {
                property.items = container.children.map(\.trimmedText)
            } else if !child.attributes.contains(where: self.isField) {
                property.text = child.trimmedText
            }
            properties.append(property)
        }
    }

    /// Returns true for an attribute that makes an empty element a structure or a reference (section 7.9.2.5); those
    /// of the text itself, such as its language, do not.
    private static func isField(_ attribute: MarkupElement.Attribute) -> Bool {
        attribute.name.namespace != "xml"
            && (attribute.name.namespace != self.rdf || attribute.name.local == "resource")
    }

    /// Returns the properties of a namespace by their local names.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when one has two different values.
    func properties(in namespace: String) throws(BlobError) -> [String: Property] {
        var found: [String: Property] = [:]
        for property in self.properties where property.name.namespace == namespace {
            if let other = found[property.name.local], other.text != property.text || other.items != property.items {
                throw BlobError(.corrupted, "The XMP packet gives two values for '\(property.name.local)'.")
            }
            found[property.name.local] = property
        }
        return found
    }
}
