import ArgumentParser
import BlobStreamsStandard
import MultipartFormData

/// The options of all commands that compose forms.
struct FormOptions: ParsableArguments {
    @Option(
        name: [.customShort("F"), .customLong("form")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A part: 'NAME=VALUE', 'NAME=@LOCATOR' for a file, 'NAME=<LOCATOR' for a field with these bytes.",
            discussion: """
                May be followed by ';type=MEDIA/TYPE' and ';filename=NAME'. Put text with a ';' or a ',' in double \
                quotes: 'a="one;two"', 'f=@"x,y";type=text/plain'. Several files of one name: 'f=@one,two'. Parts are \
                sent in the given order.
                """, valueName: "part"))
    var parts: [String] = []

    @Option(
        help: """
            The boundary between the parts (default: random): 1 to 70 letters, digits and hyphens. Give one that \
            begins with a hyphen as --boundary=TEXT.
            """)
    var boundary: String?

    /// Returns the body of all parts; warns about parts without a name, which receivers may lose.
    func makeBody(_ source: SourceOptions, _ context: BlobContext) throws(BlobError) -> MultipartBody {
        let boundary: MultipartBoundary = if let text = self.boundary { try MultipartBoundary(text) } else { .random() }
        var form = MultipartForm()
        let parts = self.parts.flatMap {
            $0.split(separator: RawArguments.partSeparator, omittingEmptySubsequences: false)
        }
        for text in parts.map(String.init) {
            let argument = try FormArgument(text)
            if argument.name.isEmpty {
                printToStandardError("blob: warning: '\(printable(text))' has no name, and many receivers lose it\n")
            }
            for item in argument.items { try self.append(item, name: argument.name, to: &form, source, context) }
        }
        return try form.body(boundary: boundary, context: context)
    }

    private func append(
        _ item: FormArgument.Item, name: String, to form: inout MultipartForm, _ source: SourceOptions,
        _ context: BlobContext
    ) throws(BlobError) {
        let type = item.mediaType
        switch item.content {
        case .value(let value):
            if let fileName = item.fileName {
                try form.appendPart(source: MemorySource(value.utf8), name: name, fileName: fileName, mediaType: type)
            } else if let type {
                try form.appendPart(value: MemorySource(value.utf8), name: name, mediaType: type)
            } else {
                try form.appendPart(value: value, name: name)
            }
        case .file(let locator):
            try form.appendPart(
                source: source.source(locator, context), name: name, fileName: item.fileName, mediaType: type)
        case .contents(let locator):
            try form.appendPart(value: source.source(locator, context), name: name, mediaType: type)
        }
    }
}
