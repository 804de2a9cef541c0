internal import CHelper
internal import HelperExchange

// Started by the module AssetLibrarySource; see `ExchangeFrame` for the protocol, and `MediaProcess` for the other
// side.

let arguments = CommandLine.arguments
guard arguments.count >= 3, let task = MediaTask(rawValue: arguments[1]), let memoryByteCount = Int(arguments[2]),
    memoryByteCount > 0, blob_is_helper() != 0
else {
    blob_refuse("blob-media-helper is started by other programs to decode pictures and films.\n")
}
let channel = ExchangeChannel(socket: blob_helper_socket, acceptsDescriptors: true)
let helper = MediaHelper(channel, task, fault: arguments.dropFirst(3).first)
helper.run(memoryByteCount: memoryByteCount)
