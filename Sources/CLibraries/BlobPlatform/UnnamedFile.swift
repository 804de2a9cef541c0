internal import CPlatform

/// Creates a file without a name in a folder, for writing: it is gone when its last descriptor is closed.
///
/// - Returns: Its descriptor; -1, with the reason in `errno`, where the system or the file system has no such files.
package func openUnnamedFile(in folder: CInt, _ path: String, permissions: UInt32) -> CInt {
    blob_open_unnamed(folder, path, permissions)
}

/// Gives a file of ``openUnnamedFile(in:_:permissions:)`` its name; false, with the reason in `errno`, on failure.
package func nameUnnamedFile(_ descriptor: CInt, in folder: CInt, _ name: String) -> Bool {
    blob_name_unnamed(descriptor, folder, name) == 0
}
