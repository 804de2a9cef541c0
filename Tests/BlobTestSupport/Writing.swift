import Foundation

/// Writes a file, in place of the one that is there.
package func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
