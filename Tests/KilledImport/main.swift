// Imports a file into a library and kills itself at a step, if it is one: LIBRARY FILE STEP.
import AssetLibrarySource
import FileSource
import Foundation

let arguments = CommandLine.arguments
guard arguments.count == 4 else { exit(64) }
let step = ImportStep(rawValue: arguments[3])
let library = try AssetLibrary(at: URL(fileURLWithPath: arguments[1]), for: .writing) { reached in
    if reached == step { kill(getpid(), SIGKILL) }
}
_ = try library.importAsset(from: FileSource(path: arguments[2]))
