#if Receiver && Photos
import AssetLibrarySource
import BlobReceiving
import BlobStreamsNIO
import BlobStreamsStandard
import ExampleProgram
import Foundation
import ZipArchive

// Serves an album of a library as one zip, which is made while a browser downloads it. An interrupted download continues,
// also after this program was started again with the same port and token.
ExampleProgram.run("AlbumZip LIBRARY ALBUM [PORT TOKEN]", taking: 2...4) { arguments, registry in
    let port = arguments.count == 4 ? Int(arguments[2]) : 0
    guard let port, arguments.count != 3 else {
        throw BlobError(.invalidArgument, "A port requires a token.")
    }
    let library = try AssetLibrary(at: URL(fileURLWithPath: arguments[0]))
    var (zip, names) = (ZipComposer(), Set<String>())
    for asset in try library.assets(inAlbum: arguments[1]) {
        // Cameras give several photos the same name.
        let name = asset.name.map { names.insert($0).inserted ? $0 : "\(asset.id)-\($0)" }
        let entry = ZipEntry(name ?? asset.id.uuidString, modificationTime: asset.modificationDate)
        // Read only when the zip is read.
        try zip.appendEntry(entry, source: library.source(for: asset.id))
    }
    // Checksums that were computed are kept in the user's cache folder, for the next start.
    let context = BlobContext(index: .automatic)
    let body = try zip.body(context: context)
    let token = AccessToken(arguments.count == 4 ? arguments[3] : nil)
    let service = try ServedBlobs(
        [ServedBlobs.Item("\(arguments[1]).zip", .source(body))], registry: registry, token: token, context: context)
    let server = try HTTPServer(service).listen(host: "127.0.0.1", port: port)
    FileHandle.standardOutput.write(Data("\(server.url)\(token.text)/\n".utf8))
    try server.wait()
}
#else
import BlobCommandLine

endWithoutTrait("traits Receiver and Photos", "AlbumZip")
#endif
