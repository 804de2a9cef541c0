#if Photos
import BlobStreams
import CSystemCallLog
import Foundation

/// A folder as a disk has it, kept up to date by a log of system calls: with what was synchronised, and what was not.
final class Disk {
    /// The part of the unsynchronised that a loss of power leaves.
    enum Loss: CaseIterable {
        /// Nothing of it.
        case everything
        /// All names, as of a file system that writes its journal at once, but no bytes.
        case bytes
        /// Anything: each write and each name was lucky or not.
        case some
    }

    private enum Node {
        case file(File)
        case folder(Folder)
    }

    private final class File {
        var durable: [UInt8] = []
        var pending: [(inout [UInt8]) -> Void] = []
    }

    private final class Folder {
        var durable: [String: Node] = [:]
        var current: [String: Node] = [:]
    }

    private let root = Folder()
    private var files: [UInt64: File] = [:]
    private var folders: [UInt64: Folder] = [:]

    /// - Parameter inode: Of the folder, which was empty when the log began.
    init(root inode: UInt64) { self.folders[inode] = self.root }

    func apply(_ call: SystemCall) {
        let folder = self.folders[call.inode]
        switch call.kind {
        case SYSTEM_CALL_CREATE:
            let file = File()
            self.files[call.otherInode] = file
            folder?.current[call.name] = .file(file)
        case SYSTEM_CALL_MAKE_FOLDER:
            guard let folder else { return }
            let made = Folder()
            self.folders[call.otherInode] = made
            folder.current[call.name] = .folder(made)
        case SYSTEM_CALL_WRITE:
            self.files[call.inode]?.pending.append { bytes in
                let end = Int(call.offset) + call.data.count
                if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
                bytes.replaceSubrange(Int(call.offset)..<end, with: call.data)
            }
        case SYSTEM_CALL_TRUNCATE:
            self.files[call.inode]?.pending.append { bytes in
                let length = Int(call.offset)
                bytes = bytes.prefix(length) + [UInt8](repeating: 0, count: max(0, length - bytes.count))
            }
        case SYSTEM_CALL_SYNCHRONISE:
            if let folder { folder.durable = folder.current }
            guard let file = self.files[call.inode] else { return }
            for write in file.pending { write(&file.durable) }
            file.pending = []
        case SYSTEM_CALL_RENAME:
            let node = folder?.current.removeValue(forKey: call.name)
            self.folders[call.otherInode]?.current[call.otherName] = node
        case SYSTEM_CALL_UNLINK:
            folder?.current[call.name] = nil
        default: break
        }
    }

    /// Writes what a loss of power now leaves into an empty folder.
    func write(to path: String, after loss: Loss, using generator: inout some RandomNumberGenerator) throws {
        try self.write(self.root, to: path, loss, &generator)
    }

    private func write(
        _ folder: Folder, to path: String, _ loss: Loss, _ generator: inout some RandomNumberGenerator
    ) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for name in Set(folder.durable.keys).union(folder.current.keys).sorted() {
            let isCurrent = loss == .bytes || loss == .some && Bool.random(using: &generator)
            switch isCurrent ? folder.current[name] : folder.durable[name] {
            case .folder(let folder)?: try self.write(folder, to: "\(path)/\(name)", loss, &generator)
            case .file(let file)?:
                var bytes = file.durable
                if loss == .some { for write in file.pending where Bool.random(using: &generator) { write(&bytes) } }
                let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
                defer { close(descriptor) }
                try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, named: name) }
            case nil: break
            }
        }
    }
}

/// An entry of the log.
struct SystemCall {
    let kind: Int
    let inode: UInt64
    let otherInode: UInt64
    let offset: Int64
    let name: String
    let otherName: String
    let data: ArraySlice<UInt8>

    static func all(inLog path: String) throws -> [SystemCall] {
        var rest = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))[...]
        var calls: [SystemCall] = []
        while !rest.isEmpty {
            let entry = rest.withUnsafeBytes { $0.loadUnaligned(as: system_call_entry.self) }
            rest = rest.dropFirst(MemoryLayout<system_call_entry>.size)
            let take = { (length: UInt32) in
                defer { rest = rest.dropFirst(Int(length)) }
                return rest.prefix(Int(length))
            }
            let name = String(decoding: take(entry.name_length), as: UTF8.self)
            let otherName = String(decoding: take(entry.other_name_length), as: UTF8.self)
            calls.append(
                SystemCall(
                    kind: Int(entry.kind), inode: entry.inode, otherInode: entry.other_inode, offset: entry.offset,
                    name: name, otherName: otherName, data: take(entry.data_length)))
        }
        return calls
    }
}
#endif
