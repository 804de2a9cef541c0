import ArgumentParser

enum ProgressMode: String, ExpressibleByArgument, CaseIterable {
    case auto, always, never
}
