import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Archives that other people's tools made.
enum Made {
    /// Where they are; made by the first test that asks, left in the folder for temporary files.
    private static let folder = Result { try make() }

    /// The bytes of one of them; nil when its tool is not there.
    static func optional(_ name: String) async throws -> Data? {
        try await onThread {
            let url = try Self.folder.get().appendingPathComponent(name)
            return FileManager.default.fileExists(atPath: url.path) ? try Data(contentsOf: url) : nil
        }
    }

    /// The bytes of one that needs python3 alone.
    static func archive(_ name: String) async throws -> Data { try #require(await self.optional(name), "\(name)") }

    /// As a file of this name.
    static func url(_ name: String) async throws -> URL {
        try await onThread { try Self.folder.get().appendingPathComponent(name) }
    }

    /// The bytes of the members called `long` and `big`, as the script makes them.
    static let long = data(70_000)
    static let big = data(200_000)

    static func data(_ count: UInt64) -> Data { Data((0..<count).map { UInt8((($0 * 2_654_435_761) >> 13) & 255) }) }

    private static func make() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("blob-archives-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try run("python3", ["-c", self.script], in: url)
        try run("python3", ["-c", self.oddScript], in: url)
        try run("sh", ["-c", self.tools], in: url)
        return url
    }

    private static func run(_ name: String, _ arguments: [String], in folder: URL) throws {
        let process = try FinishedProcess(name, arguments, in: folder)
        guard process.status == 0 else {
            throw BlobError(.internalError, "\(name) made no archives: \(process.errors)")
        }
    }

    private static let script = #"""
        import bz2, gzip, io, lzma, random, tarfile, zipfile

        def data(count): return bytes((i * 2654435761 >> 13) & 255 for i in range(count))

        def add(tar, name, content=b'', **fields):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), 1700000000, 0o640
            for key, value in fields.items(): setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content))

        def tar(path, format=tarfile.PAX_FORMAT):
            with tarfile.open(path, 'w', format=format) as archive:
                add(archive, 'd/a.txt', b'hello')
                add(archive, 'long/' + 'n' * 150, data(70000))
                add(archive, 'twice', b'1')
                add(archive, 'twice', b'22')
                add(archive, 'dir/', type=tarfile.DIRTYPE)
                add(archive, 'hard', type=tarfile.LNKTYPE, linkname='d/a.txt')
                add(archive, 'harder', type=tarfile.LNKTYPE, linkname='hard')
                add(archive, 'astray', type=tarfile.LNKTYPE, linkname='nowhere')
                add(archive, 'soft', type=tarfile.SYMTYPE, linkname='d/a.txt')
                add(archive, 'device', type=tarfile.CHRTYPE)
                add(archive, 'empty')
                add(archive, 'odd %!#@\n\u00e9', b'odd')
                add(archive, '@5', b'at')
                add(archive, 'in.zip', inner.getvalue())
                add(archive, 'last', b'the last')

        inner = io.BytesIO()
        with zipfile.ZipFile(inner, 'w', zipfile.ZIP_DEFLATED) as archive:
            archive.writestr('in/a', b'inner')
            archive.writestr('big', data(200000))
            archive.writestr(zipfile.ZipInfo('stored'), b'as it is')
        open('a.zip', 'wb').write(inner.getvalue())
        for name, format in [('a', tarfile.PAX_FORMAT), ('gnu', tarfile.GNU_FORMAT)]: tar(name + '.tar', format)
        with tarfile.open('v7.tar', 'w', format=tarfile.USTAR_FORMAT) as archive: add(archive, 'old', b'without magic')
        old = bytearray(open('v7.tar', 'rb').read())
        old[257:512] = bytes(255)
        old[148:156] = b' ' * 8
        old[148:156] = b'%06o\0 ' % sum(old[:512])
        open('v7.tar', 'wb').write(old)
        for name in ['small', 'bytes']:
            with tarfile.open(name + '.tar', 'w', format=tarfile.GNU_FORMAT) as archive:
                if name == 'small':
                    add(archive, 'one', b'first member')
                    add(archive, 'two', data(1500))
                else:
                    add(archive, b'\xff\xfe raw'.decode('utf-8', 'surrogateescape'), b'no UTF-8')
        with zipfile.ZipFile('small.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
            archive.writestr('one', b'first member')
            archive.writestr('two', b'some text, some more text, some text ' * 20)
        with zipfile.ZipFile('small64.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
            with archive.open('one', 'w', force_zip64=True) as member: member.write(b'first member')
        with zipfile.ZipFile('empty.zip', 'w'): pass
        with zipfile.ZipFile('many.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
            for number in range(300): archive.writestr(str(number), f'{number} ' * (number * 7 % 300))
        with zipfile.ZipFile('twice.zip', 'w') as archive:
            archive.writestr('same', b'1')
            archive.writestr('same', b'2')
        text = b'some text, some more text, some text ' * 20
        with zipfile.ZipFile('methods.zip', 'w') as archive:
            archive.writestr('bzip2', text, zipfile.ZIP_BZIP2)
            archive.writestr('lzma', text, zipfile.ZIP_LZMA)
        # LZMA whose last bytes, and they alone, lie behind 128 KiB: of the data, or with a header of 31 bytes.
        noise = random.Random(7).randbytes(140000)
        for name, before in [('edge-data', 0), ('edge-all', 31)]:
            count, excess = 129000, 0
            while not 1 <= excess <= 3:
                count -= excess - 2
                edge = io.BytesIO()
                with zipfile.ZipFile(edge, 'w') as archive: archive.writestr('m', noise[:count], zipfile.ZIP_LZMA)
                excess = before + archive.infolist()[0].compress_size - (1 << 17)
            open(name + '.zip', 'wb').write(edge.getvalue())
            open(name, 'wb').write(noise[:count])
        class Once(io.RawIOBase):
            # What cannot seek gets its lengths behind the bytes.
            def __init__(self): self.bytes = b''
            def writable(self): return True
            def write(self, more):
                self.bytes += bytes(more)
                return len(more)
        once = Once()
        with zipfile.ZipFile(once, 'w') as archive:
            archive.writestr('one', text, zipfile.ZIP_DEFLATED)
            archive.writestr('two', b'stored')
        open('streamed.zip', 'wb').write(once.bytes)
        with zipfile.ZipFile('zip64.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
            with archive.open('one', 'w', force_zip64=True) as member: member.write(text)
            for i in range(69999): archive.writestr('%d' % i, b'%d' % i, zipfile.ZIP_STORED)
            archive.writestr('last', b'the last')
        with zipfile.ZipFile('kinds.zip', 'w') as archive:
            def special(name, mode, content, time):
                info = zipfile.ZipInfo(name, (1980, 0, 0, 0, 0, 0))
                info.external_attr, info.create_system = mode << 16, 3
                # Info-ZIP's time in UTC.
                if time: info.extra = b'UT\x05\x00\x01' + time.to_bytes(4, 'little')
                archive.writestr(info, content)
            special('dir/', 0o40755, b'', 0)
            special('dir/abc', 0o100750, b'abc', 1700000000)
            special('link', 0o120777, b'dir/abc', 1700000000)
        # A link whose target comes behind 5000 blocks of deflate with nothing in them.
        import struct, zlib
        target = b'dir/abc'
        deflated = b'\0\0\0\xff\xff' * 5000 + b'\1' + struct.pack('<HH', 7, 0xFFFF - 7) + target
        fields = struct.pack('<HHHHHIIIHH', 20, 0, 8, 0, 0, zlib.crc32(target), len(deflated), 7, 4, 0)
        local = b'PK\3\4' + fields + b'link' + deflated
        entry = b'PK\1\2' + struct.pack('<H', 3 << 8 | 20) + fields \
            + struct.pack('<HHHII', 0, 0, 0, 0o120777 << 16, 0) + b'link'
        open('slowlink.zip', 'wb').write(
            local + entry + b'PK\5\6' + struct.pack('<HHHHIIH', 0, 0, 1, 1, len(entry), len(local), 0))
        encrypted = bytearray(open('small.zip', 'rb').read())
        encrypted[6] |= 1
        encrypted[encrypted.index(b'PK\1\2') + 8] |= 1
        open('encrypted.zip', 'wb').write(encrypted)
        lying = bytearray(open('small.zip', 'rb').read())
        lying[lying.index(b'PK\1\2') + 16] ^= 1
        open('lying.zip', 'wb').write(lying)
        with open('sparse.tar', 'wb') as file:
            # A file of GNU tar's old sparse format: 512 bytes of data at 4096, 1 MiB in all, which ends in a hole.
            info = tarfile.TarInfo('holes')
            info.size, info.type = 512, b'S'
            block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
            number = lambda value, width: b'%0*o\0' % (width - 1, value)
            block[386:410] = number(4096, 12) + number(512, 12)
            block[410:434] = number(1048576, 12) + number(0, 12)
            block[483:495] = number(1048576, 12)
            block[148:156] = b' ' * 8
            block[148:156] = b'%06o\0 ' % sum(block)
            file.write(block + b'S' * 512 + bytes(1024))
        # Small archives to be damaged: a file, a link, a folder, a long name, in three formats.
        for name, format in [
            ('ustar', tarfile.USTAR_FORMAT), ('pax', tarfile.PAX_FORMAT), ('gnu', tarfile.GNU_FORMAT)]:
            with tarfile.open('tiny-%s.tar' % name, 'w', format=format) as archive:
                add(archive, 'one', b'first member')
                add(archive, 'dir/' + 'n' * 90 + '/' + 'm' * 60, b'long' * 150)
                link = tarfile.TarInfo('hard')
                link.type, link.linkname = tarfile.LNKTYPE, 'one'
                archive.addfile(link)
                add(archive, 'three', b'')
                add(archive, 'four', b'4444')
        # What Python does not write by itself: sparse files of pax, a global header, a size and a name from pax.
        with open('odd.tar', 'wb') as file:
            def header(name, size, type, linkname=''):
                info = tarfile.TarInfo(name)
                info.size, info.type, info.linkname = size, type, linkname
                return info.tobuf(tarfile.USTAR_FORMAT)
            def body(content): return content + bytes(-len(content) % 512)
            def pax(records, type=b'x'):
                content = b''
                for key, value in records:
                    rest = b' %s=%s\n' % (key.encode(), value.encode())
                    length = len(rest) + 1
                    while length != len(b'%d' % length) + len(rest): length = len(b'%d' % length) + len(rest)
                    content += b'%d' % length + rest
                return header('pax', len(content), type) + body(content)
            file.write(pax([('comment', 'for all')], b'g'))
            file.write(pax([('path', 'renamed'), ('mtime', '1.5')]) + header('plain', 5, b'0') + body(b'plain'))
            file.write(pax([('size', '600')]) + header('sized', 1, b'0') + body(b's' * 600))
            sparse = [('GNU.sparse.numblocks', '2'), ('GNU.sparse.size', '5000'), ('GNU.sparse.name', 'sparse 0.0')]
            parts = [('GNU.sparse.offset', '1000'), ('GNU.sparse.numbytes', '4')] \
                + [('GNU.sparse.offset', '2000'), ('GNU.sparse.numbytes', '3')]
            file.write(pax(sparse + parts) + header('sparse00', 7, b'0') + body(b'1111222'))
            sparse = [('GNU.sparse.name', 'sparse 0.1'), ('GNU.sparse.size', '5000')]
            file.write(pax(sparse + [('GNU.sparse.map', '0,4,4000,3')]) + header('s01', 7, b'0') + body(b'1111222'))
            sparse = [('GNU.sparse.major', '1'), ('GNU.sparse.minor', '0'), ('GNU.sparse.name', 'sparse 1.0')]
            content = body(b'2\n512\n4\n4000\n3\n') + b'1111222'
            file.write(
                pax(sparse + [('GNU.sparse.realsize', '5000')]) + header('s10', len(content), b'0') + body(content))
            file.write(header('folder', 0, b'5') + header('soft', 0, b'2', 'plain') + header('slash/', 0, b'0'))
            file.write(header('last', 4, b'7') + body(b'last') + bytes(1024))
        # Global headers: for all members, replaced one by one, overridden, removed.
        with open('global.tar', 'wb') as file:
            file.write(pax([('path', 'all'), ('mtime', '1000')], b'g') + header('a', 5, b'0') + body(b'aaaaa'))
            file.write(pax([('path', 'own'), ('mtime', '2000')]) + header('b', 3, b'0') + body(b'bbb'))
            file.write(pax([('mtime', '3000'), ('linkpath', 'all')], b'g') + header('c', 0, b'2', 'x'))
            file.write(pax([('path', '')], b'g') + header('d', 1, b'0') + body(b'd'))
            file.write(pax([('size', '700')], b'g') + header('e', 700, b'0') + body(b'e' * 700))
            file.write(pax([('size', '3')]) + header('f', 3, b'0') + body(b'fff') + header('g', 0, b'5'))
            file.write(header('h', 700, b'0') + body(b'h' * 700) + bytes(1024))
        with open('times.tar', 'wb') as file:
            for time in ['nan', 'inf', '-inf', '1e999', '1.5', '-1e300']:
                file.write(pax([('mtime', time)]) + header(time, 0, b'0'))
            file.write(bytes(1024))
        # A header of Solaris, a name of a volume, a hard link with bytes, as pax allows.
        with open('star.tar', 'wb') as file:
            file.write(header('volume', 0, b'V') + pax([('path', 'of Solaris')], b'X') + header('x', 3, b'0') + body(b'sun'))
            file.write(pax([('path', 'linked')]) + header('l', 3, b'1', 'of Solaris') + body(b'sun'))
            file.write(header('two', 3, b'0') + body(b'two') + bytes(1024))
        # Hard links that declare bytes which do not follow, and, after a record of pax, which look like a header.
        with open('declared-link.tar', 'wb') as file:
            file.write(header('one', 3, b'0') + body(b'one') + header('link', 3, b'1', 'one'))
            file.write(header('two', 3, b'0') + body(b'two') + bytes(1024))
        with open('header-in-link.tar', 'wb') as file:
            file.write(pax([('mtime', '1')]) + header('one', 3, b'0') + body(b'one') + header('link', 512, b'1', 'one'))
            file.write(header('in it', 0, b'0') + header('two', 3, b'0') + body(b'two') + bytes(1024))
        pax_archive = open('odd.tar', 'rb').read()
        open('pax.tar', 'wb').write(pax_archive[1024:])
        with open('links.cpio', 'wb') as file:
            # The new format, where the last name of a file has its bytes.
            def entry(name, content, inode, links):
                fields = [inode, 0o100644, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
                header = b'070701' + b''.join(b'%08x' % field for field in fields) + name + b'\0'
                for part in [header, content]: file.write(part + bytes(-len(part) % 4))
            entry(b'first', b'', 7, 2)
            entry(b'second', b'both', 7, 2)
            entry(b'none', b'', 8, 2)
            entry(b'plain', b'plain bytes', 9, 1)
            entry(b'TRAILER!!!', b'', 0, 1)
        with open('sums.cpio', 'wb') as file:
            # The format with sums, of SVR4; the second sum is wrong, and of two names of a file, the first has no bytes.
            def summed(name, content, sum, links=1):
                fields = [links + 5, 0o100644, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name) + 1, sum]
                header = b'070702' + b''.join(b'%08x' % field for field in fields) + name + b'\0'
                for part in [header, content]: file.write(part + bytes(-len(part) % 4))
            summed(b'right', data(300_000), sum(data(300_000)))
            summed(b'wrong', b'wrong', 7)
            summed(b'first', b'', sum(b'both'), 2)
            summed(b'second', b'both', sum(b'both'), 2)
            summed(b'n' * 5000, b'long', sum(b'long'))
            summed(b'last', b'', 5)
            entry(b'TRAILER!!!', b'', 0, 1)
        with open('a.ar', 'wb') as file:
            file.write(b'!<arch>\n')
            for name, content in [(b'one/', b'odd'), (b'two/', b'even')]:
                file.write(b'%-16s%-12d%-6d%-6d%-8o%-10d`\n' % (name, 0, 0, 0, 0o100644, len(content)))
                file.write(content + b'\n' * (len(content) % 2))
        content = data(3000)
        for name, stream in [
            ('bz2', bz2.compress), ('xz', lzma.compress), ('gz', lambda b: gzip.compress(b, mtime=0)),
            ('lzma', lambda b: lzma.compress(b, format=lzma.FORMAT_ALONE))]:
            open('stream.' + name, 'wb').write(stream(content))
            open('none.' + name, 'wb').write(stream(b''))
            for archive in ['a.tar', 'small.tar', 'sums.cpio']:
                open(archive + '.' + name, 'wb').write(stream(open(archive, 'rb').read()))
        open('stream', 'wb').write(content)
        for name, compress in [('xz', lzma.compress), ('bz2', bz2.compress)]:
            parts = compress(content[:1000]) + (bytes(8) if name == 'xz' else b'') + compress(b'')
            open('streams.' + name, 'wb').write(parts + compress(content[1000:]))
        many = b''.join(b'%d %d\n' % (i, i * i * 2654435761 % 1000003) for i in range(120_000))
        open('many', 'wb').write(many)
        open('many.bz2', 'wb').write(bz2.compress(many[:700_000], 1) + bz2.compress(many[700_000:], 2))
        parts = [many[:200_000], bytes(20_000_000), many[200_000:]]
        open('long.bz2', 'wb').write(b''.join(bz2.compress(part) for part in parts))
        step = 200_000
        open('many.xz', 'wb').write(b''.join(
            lzma.compress(many[i:i + step], preset=0) for i in range(0, len(many), step)))
        for name, check in [('unchecked', lzma.CHECK_NONE), ('sha256', lzma.CHECK_SHA256)]:
            parts = [lzma.compress(part, check=check) for part in (content[:1500], content[1500:])]
            open(name + '.xz', 'wb').write(b''.join(parts) + bytes(12))
        open('none', 'wb').write(b'')
        """#

    private static let tools = #"""
        for name in stream none a.tar; do
          command -v zstd >/dev/null && zstd -q -f $name -o $name.zst
          command -v lz4 >/dev/null && lz4 -q -f $name $name.lz4
          command -v lzip >/dev/null && lzip -k -f $name
          command -v compress >/dev/null && compress -c -f $name > $name.Z
        done
        rm -f none.Z
        if command -v zstd >/dev/null; then
          # With a checksum and a length in each frame: of a pipe the length is not known.
          head -c 1100 stream > zstd.1; tail -c +1101 stream > zstd.2
          split -b 150000 many many.part.
          for part in many.part.*; do zstd -q -c --check $part; done > many.zst
          for part in zstd.1 none zstd.2; do zstd -q -c --check $part; done > frames.zst
          zstd -q -c --check zstd.1 > zstd.1.zst; zstd -q -c --check zstd.2 > zstd.2.zst
          python3 -c '
        import os, struct
        sizes = [(os.path.getsize(name + ".zst"), os.path.getsize(name)) for name in ("zstd.1", "zstd.2")]
        table = b"".join(struct.pack("<II", *size) for size in sizes)
        frames = b"".join(open(name + ".zst", "rb").read() for name in ("zstd.1", "zstd.2"))
        footer = struct.pack("<IBI", len(sizes), 0, 0x8F92EAB1)
        head = struct.pack("<II", 0x184D2A5E, len(table) + len(footer))
        open("seekable.zst", "wb").write(frames + head + table + footer)
        # The table has the checksums that frames would have; and once they have them. The lengths are those that XXH64
        # treats differently.
        import subprocess
        def packed(data, *options):
            return subprocess.run(("zstd", "-q", "-c") + options, input=data, stdout=subprocess.PIPE).stdout
        content, counts = open("stream", "rb").read(), [1, 3, 4, 7, 8, 13, 31, 32, 33, 45, 100]
        counts.append(len(content) - sum(counts))
        for name, option in [("checked-table.zst", "--no-check"), ("checked-twice.zst", "--check")]:
            frames, table, start = b"", b"", 0
            for count in counts:
                part = content[start:start + count]
                start += count
                frame = packed(part, option, "--stream-size=%d" % count)
                table += struct.pack("<II", len(frame), count) + packed(part, "--check")[-4:]
                frames += frame
            footer = struct.pack("<IBI", len(counts), 0x80, 0x8F92EAB1)
            head = struct.pack("<II", 0x184D2A5E, len(table) + len(footer))
            open(name, "wb").write(frames + head + table + footer)
        '
        fi
        command -v xz >/dev/null && xz -c -T1 --block-size=700 -C crc32 stream > blocks-small.xz
        command -v 7z >/dev/null && 7z a -bso0 a.7z a.tar stream small.zip
        command -v 7z >/dev/null && 7z a -bso0 small.7z small.zip
        command -v 7z >/dev/null && 7z a -bso0 -psecret secret.7z stream
        command -v 7z >/dev/null && 7z a -bso0 -tzip -psecret -mem=AES256 secret.zip stream
        command -v zip >/dev/null && zip -q -0 -P secret zipcrypto-many.zip many
        command -v 7z >/dev/null && 7z a -bso0 -psecret -tzip -mem=AES128 -mx=0 aes-many.zip many
        # Members whose lengths add up to a multiple of 64 KiB before the one that is read.
        head -c 65536 a.tar > k1; head -c 131072 /dev/zero > k2
        command -v 7z >/dev/null && 7z a -bso0 -ms=on solid.7z k1 k2 stream
        ln -s k1 soft
        command -v 7z >/dev/null && 7z a -bso0 -ms=on -snl links.7z k1 k2 soft
        mkdir twenty
        for n in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20; do
          head -c ${n}3 a.zip > twenty/$n; cat k1 >> twenty/$n
        done
        command -v 7z >/dev/null && (cd twenty && 7z a -bso0 -ms=on ../twenty.7z .)
        mkdir -p folders/empty; : > folders/nothing; : > folders/more
        n=0
        for file in twenty/*; do n=$((n + 1)); head -c $((n * 500)) $file > folders/$(basename $file).$n; done
        head -c 90000 "$(command -v sh)" > folders/program
        if command -v 7z >/dev/null; then
          cd folders
          7z a -bso0 -ms=off -m0=lzma ../folders-lzma.7z . && 7z a -bso0 -ms=off -m0=ppmd ../folders-ppmd.7z .
          7z a -bso0 -ms=off -m0=copy -mhc=off ../folders-copy.7z . && 7z a -bso0 -ms=5f ../folders-solid.7z .
          7z a -bso0 -ms=8f -m0=bcj2 -m1=lzma:d20 -m2=lzma:d18 -m3=lzma:d18 -mb0:1 -mb0s1:2 -mb0s2:3 \
            ../folders-bcj2.7z .
          cd ..
        fi
        command -v bsdtar >/dev/null && bsdtar --format odc -cf odc.cpio stream k1
        for format in iso9660:iso xar:xar; do
          command -v bsdtar >/dev/null && bsdtar --format ${format%:*} -cf a.${format#*:} stream
          command -v bsdtar >/dev/null && bsdtar --format ${format%:*} -cf several.${format#*:} k1 stream small.zip
        done
        exit 0
        """#
}
