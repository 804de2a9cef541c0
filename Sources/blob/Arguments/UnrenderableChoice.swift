import ArgumentParser

/// The value of `--unrenderable`: what is read in place of a picture whose adjustment cannot be rendered.
enum UnrenderableChoice: String, ExpressibleByArgument, CaseIterable {
    case fail, original, render
}
