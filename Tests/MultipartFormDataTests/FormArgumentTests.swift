import BlobStreams
import BlobTestSupport
import Testing

@testable import MultipartFormData

/// Parts as they are written on a command line.
@Suite struct FormArgumentTests {
    private typealias Item = FormArgument.Item

    private static func value(_ text: String, type: String? = nil, name: String? = nil) -> [FormArgument.Item] {
        [FormArgument.Item(content: .value(text), mediaType: type, fileName: name)]
    }

    private static func file(_ locator: String, type: String? = nil, name: String? = nil) -> FormArgument.Item {
        FormArgument.Item(content: .file(locator: locator), mediaType: type, fileName: name)
    }

    @Test(
        arguments: [
            ("a=b", value("b")), ("a=", value("")), ("a=b=c", value("b=c")), ("a= b c ", value("b c")),
            (#"a=" b ""#, value(" b ")),
            (#"a="red; green";type=text/x-myapp"#, value("red; green", type: "text/x-myapp")),
            (#"a="say \"hi\" \\ \n""#, value(#"say "hi" \ \n"#)), (#"a="not closed"#, value(#""not closed"#)),
            (#"a=x"y"#, value(#"x"y"#)), ("a=b;type=text/plain", value("b", type: "text/plain")),
            ("a=b; type = x", nil), ("a=b;TYPE=text/html; charset=utf-8", value("b", type: "text/html; charset=utf-8")),
            ("a=b;type=text/html;charset=utf-8;filename=n", value("b", type: "text/html;charset=utf-8", name: "n")),
            (#"a=b;filename="n;\"1\"""#, value("b", name: #"n;"1""#)), ("a=b; filename= n ", value("b", name: "n")),
            ("a=b@c", value("b@c")), (#"a="@b""#, value("@b")), ("a=é;filename=日", value("é", name: "日")),
        ] as [(String, [FormArgument.Item]?)])
    func valuesAreReadAsCurlReadsThem(text: String, items: [FormArgument.Item]?) throws {
        guard let items else {
            #expect(codeThrown { try FormArgument(text) } == .invalidArgument)
            return
        }
        let argument = try FormArgument(text)
        #expect(argument.name == "a")
        #expect(argument.items == items)
    }

    @Test(
        arguments: [
            ("f=@x", [file("x")]), ("f=@ x ", [file("x")]), ("f=@x;type=image/png", [file("x", type: "image/png")]),
            (#"f=@"a,b;c";filename="name;in;post""#, [file("a,b;c", name: "name;in;post")]),
            ("f=@a,b", [file("a"), file("b")]),
            (#"f=@a;type=x/y,"b,c";filename=d"#, [file("a", type: "x/y"), file("b,c", name: "d")]),
            ("f=@gzip+x.gz", [file("gzip+x.gz")]), ("f=@x.zip#dir/m@1", [file("x.zip#dir/m@1")]), ("f=@-", [file("-")]),
            ("f=@x;filename=", [file("x", name: "")]),
        ] as [(String, [FormArgument.Item])])
    func filesAreReadAsCurlReadsThem(text: String, items: [FormArgument.Item]) throws {
        #expect(try FormArgument(text).items == items)
    }

    @Test func contentsOfAFileAreAField() throws {
        let item = try #require(FormArgument("a=<b,c;type=text/x").items.first)
        #expect(item == Item(content: .contents(locator: "b,c"), mediaType: "text/x"))
    }

    @Test func aNameMayBeEmpty() throws { #expect(try FormArgument("=b").name == "") }

    @Test(arguments: [
        "a", "", "a=b;c", "a=b;encoder=base64", "a=b;headers=X: y", "a=(", "a=\"b\"c", "a=<b;filename=c", "a=b;type=x",
        "a=b;type=x/", "a=b;type=", "a=b;", "a=b;type=a b/c",
    ])
    func whatMeansNothingIsRefused(text: String) throws {
        #expect(codeThrown { try FormArgument(text) } == .invalidArgument)
    }
}
