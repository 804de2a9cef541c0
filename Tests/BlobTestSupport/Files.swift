package import Foundation

/// The folder of the package, with its sources and tests.
package let projectFolder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// The place of a file that is stored with the tests of a module.
package func fixture(_ name: String, of module: String) -> URL {
    projectFolder.appendingPathComponent("Tests/\(module)/Fixtures/\(name)")
}

/// Reads the content of a file.
package func readFile(_ path: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }

/// Writes a file, in place of the one that is there.
package func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
