internal import CHelper
internal import HelperExchange

// Started by the module ArchiveSource; see `ExchangeFrame` for the protocol, and `HelperProcess` for the other side.

let arguments = CommandLine.arguments
guard arguments.count >= 2, blob_is_helper() != 0, let memory = ExchangeMemory(descriptor: blob_helper_memory) else {
    blob_refuse("blob-archive-helper is started by other programs to read archives.\n")
}
let helper = ArchiveHelper(
    ExchangeChannel(socket: blob_helper_socket), memory, format: arguments[1], fault: arguments.dropFirst(2).first)
helper.run()
