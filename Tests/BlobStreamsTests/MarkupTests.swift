import BlobCore
import BlobTestSupport
import Testing

@Suite struct MarkupTests {
    @Test(arguments: [
        #"<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]><x>&b;</x>"#,
        #"<!DOCTYPE x SYSTEM "file:///etc/passwd" [ ]><x/>"#, "<x>&xxe;</x>", "<x><y></x></y>", "<x", "<p:x/>",
        "<x a=b/>",
        "<x>\u{0}", "<x/><y/>", "<x a='<'/>",
        String(repeating: "<x>", count: 100_000) + String(repeating: "</x>", count: 100_000),
        "<x>" + String(repeating: "<y/>", count: 60_000) + "</x>",
        "<x" + String(repeating: " a='1'", count: 60_000) + "/>",
    ])
    func hostileMarkupIsATypedError(text: String) {
        let code = codeThrown { try MarkupElement.parse(Array(text.utf8)) }
        #expect(code == .corrupted || code == .limitExceeded)
    }

    @Test func namesHaveTheNamespacesInScope() throws {
        let text = """
            <?xml version="1.0"?><!-- -->
            <a xmlns="urn:1" xmlns:p="urn:2" p:x="&lt;&#x41;" y='2'><p:b xmlns:p="urn:3" xmlns=""><c/></p:b><p:b/> t </a>
            """
        let root = try MarkupElement.parse(Array(text.utf8))
        #expect(root.name == .init(namespace: "urn:1", local: "a"))
        #expect(root.attributes.map(\.name.namespace) == ["urn:2", ""])
        #expect(root.attributes.map(\.value) == ["<A", "2"])
        #expect(root.children.map(\.name.namespace) == ["urn:3", "urn:2"])
        #expect(root.children[0].children.map(\.name.namespace) == [""])
        #expect(root.trimmedText == "t")
    }

    /// A table of namespaces copied for each element takes minutes here.
    @Test(.timeLimit(.minutes(1))) func declarationsOfNamespacesTakeLinearTime() throws {
        let declarations = (0..<24_000).map { " xmlns:p\($0)='u'" }.joined()
        let children = (0..<12_000).map { "<p\($0):a xmlns:q='v'/>" }.joined()
        let root = try MarkupElement.parse(Array("<x\(declarations)>\(children)</x>".utf8))
        #expect(root.children.count == 12_000)
    }
}
