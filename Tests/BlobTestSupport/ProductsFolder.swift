package import Foundation

/// The folder of the executables that were built with the tests, which lie beside them.
package let productsFolder: URL = {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let executable = bundle?.bundleURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    return executable.resolvingSymlinksInPath().deletingLastPathComponent()
}()
