/// Archives as other people's tools make them that Python does not make, byte by byte.
extension Made {
    static let oddScript = #"""
        import gzip, lzma, struct, zipfile, zlib

        def crc(data): return struct.pack('<I', zlib.crc32(data))

        def write(name, data): open(name, 'wb').write(data)

        # A zip of one member, whose local header may say something else than the directory.
        def zipped(name, data=b'text', packed=None, method=0, flags=0, mode=0o100644, local=None, localName=None,
                   localFlags=None, descriptor=b'', size=None):
            packed = data if packed is None else packed
            numbers = (zlib.crc32(data), len(packed), len(data) if size is None else size)
            middle = lambda flags, numbers: struct.pack('<HHHHHIII', 63, flags, method, 0, 0x21, *numbers)
            theirs = name if localName is None else localName
            header = b'PK\3\4' + middle(flags if localFlags is None else localFlags, local or numbers) \
                + struct.pack('<HH', len(theirs), 0) + theirs + packed + descriptor
            entry = b'PK\1\2' + struct.pack('<H', 3 << 8 | 63) + middle(flags, numbers) \
                + struct.pack('<HHHHHII', len(name), 0, 0, 0, 0, mode << 16, 0) + name
            return header + entry + b'PK\5\6' + struct.pack('<HHHHIIH', 0, 0, 1, 1, len(entry), len(header), 0)

        deflated = zlib.compress(b'text' * 9)[2:-4]
        sum = zlib.crc32(b'text' * 9)
        after = b'PK\7\x08' + struct.pack('<III', sum, len(deflated), 36)
        def streamed(name, local, descriptor=after):
            write(name, zipped(b'm', b'text' * 9, deflated, 8, 8, local=local, descriptor=descriptor))
        # Of those that know the length before they compress; FreeBSD's and macOS's zip, that is libarchive.
        streamed('unpacked-size.zip', (0, 0, 36))
        streamed('packed-size.zip', (0, len(deflated), 0))
        streamed('checksum-only.zip', (sum, 0, 0))
        streamed('no-signature.zip', (0, 0, 36), after[4:])
        streamed('long-descriptor.zip', (0, 0, 36), b'PK\7\x08' + struct.pack('<IQQ', sum, len(deflated), 36))
        streamed('wrong-size.zip', (0, 0, 35))
        streamed('no-descriptor.zip', (0, 0, 36), b'')
        # What Info-ZIP makes of its standard input.
        write('pipe.zip', zipped(b'-', b'from a pipe', mode=0o010600))
        write('device.zip', zipped(b'tty', b'typed', mode=0o020620))
        write('nothing.zip', zipped(b'tty', b'', mode=0o020620))
        # Names.
        write('cp437.zip', zipped(b'\x91o\x86.txt'))
        write('flagged.zip', zipped('\u00e6.txt'.encode(), flags=0x800, localName=b'\x91.txt', localFlags=0))
        write('zero.zip', zipped(b'seen\0hidden'))
        magic = b'PK\6\6' + bytes(10) + b'PK\6\7' + bytes(16)
        write('magic.zip', zipped(magic))
        # Behind a program.
        write('sfx-zip', bytes(range(256)) * 9 + zipped(b'm'))
        def block(kind, flags, fields, data=b''):
            body = bytes([kind, flags]) + fields
            body = bytes([len(body)]) + body
            return crc(body) + body + data
        rar = b'Rar!\x1a\7\1\0' + block(1, 0, b'\0') \
            + block(2, 2, bytes([4, 4, 4, 0]) + crc(b'text') + bytes([0, 1, 1]) + b'm', b'text') + block(5, 0, b'\0')
        write('stored.rar', rar)
        several = b''.join(
            block(2, 2, bytes([4, 4, 4, 0]) + crc(b'tex' + name) + bytes([0, 1, 1]) + name, b'tex' + name)
            for name in [b'a', b'b', b'c'])
        write('several.rar', rar[:rar.index(block(1, 0, b'\0')) + len(block(1, 0, b'\0'))] + several + block(5, 0, b'\0'))
        # Before version 5: the headers have the low half of a CRC-32. The second member has a length of 64 bits.
        def header(kind, flags, fields, data=b''):
            body = struct.pack('<BHH', kind, flags, 7 + len(fields)) + fields
            return crc(body)[:2] + body + data
        def old(name, data, flags=0, high=b''):
            return header(0x74, 0x8000 | flags, struct.pack('<IIB', len(data), len(data), 3) + crc(data) + struct.pack(
                '<IBBHI', 0x5A210000, 20, 0x30, len(name), 0o100644) + high + name, data)
        write('version4.rar', b'Rar!\x1a\7\0' + header(0x73, 0, bytes(6)) + old(b'a', b'first')
            + old(b'b', b'second', 0x100, bytes(8)) + header(0x7B, 0x4000, b''))
        # LHA, with headers of level 0 and stored members; WARC.
        def crc16(data):
            value = 0
            for byte in data:
                value ^= byte
                for _ in range(8): value = value >> 1 ^ (0xA001 if value & 1 else 0)
            return value
        def stored(name, data):
            header = b'-lh0-' + struct.pack('<IIIBBB', len(data), len(data), 0x5A210000, 0x20, 0, len(name)) + name \
                + struct.pack('<H', crc16(data))
            return bytes([len(header), __builtins__.sum(header) & 255]) + header + data
        files = [(b'one', b'1' * 5), (b'two', b'22' * 400), (b'three', b'3' * 70000)]
        write('several.lzh', b''.join(stored(name, data) for name, data in files) + b'\0')
        def cabinet(files):
            data, entries = b''.join(data for _, data in files), b''
            for number, (name, content) in enumerate(files):
                offset = __builtins__.sum(len(content) for _, content in files[:number])
                entries += struct.pack('<IIHHHH', len(content), offset, 0, 0x5A21, 0, 0x20) + name + b'\0'
            parts = [data[start:start + 32768] for start in range(0, len(data), 32768)]
            blocks = b''.join(struct.pack('<IHH', 0, len(part), len(part)) + part for part in parts)
            start = 44 + len(entries)
            head = struct.pack('<IIIIIBBHHHHH', 0, start + len(blocks), 0, 44, 0, 3, 1, 1, len(files), 0, 0, 0)
            return b'MSCF' + head + struct.pack('<IHH', start, len(parts), 0) + entries + blocks
        write('several.cab', cabinet(files))
        write('several.warc', b''.join(
            b'WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://h/%s\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n'
            b'WARC-Record-ID: <urn:x:%s>\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n' % (name, name, len(data), data)
            for name, data in files))
        # The first member has a record of encryption: version, flags, iterations, salt and initial vector.
        locked = bytes([36, 1, 0, 0, 15]) + bytes(range(32))
        write('encrypted.rar', rar[:-8] + b''.join(
            block(2, 2 | len(extra) // 37, bytes([len(extra)] * (len(extra) // 37) + [4, 4, 4, 0]) + crc(b'text')
                  + bytes([0, 1, 1]) + name + extra, b'text')
            for name, extra in [(b'x', locked), (b'y', b'')]) + block(5, 0, b'\0'))
        # A program holds the signature that it looks for.
        program = b'\x7fELF' + bytes(300_000) + b'Rar!\x1a\7\1\0' + b"7z\xbc\xaf'\x1c" + bytes(100)
        write('sfx-rar', program + rar)
        def number(value):
            for count in range(8):
                if value < 1 << 7 * (count + 1):
                    first = 0xFF00 >> count & 0xFF | value >> 8 * count
                    return bytes([first]) + (value & (1 << 8 * count) - 1).to_bytes(count, 'little')
        def coder(id, properties=b''):
            return bytes([len(id) | (0x20 if properties else 0)]) + id \
                + (number(len(properties)) + properties if properties else b'')
        def streams(place, count, coder, size):
            return b'\6' + number(place) + b'\1\x09' + number(count) + b'\0' \
                + b'\7\x0b\1\0\1' + coder + b'\x0c' + number(size) + b'\0'
        def sevenzip(body, header):
            start = struct.pack('<QQ', len(body), len(header)) + crc(header)
            return b"7z\xbc\xaf'\x1c\0\4" + crc(start) + start + body + header
        def members(coder, data, size):
            return b'\1\4' + streams(0, len(data), coder, size) + b'\x08\0\0' \
                + b'\5\1\x11\5\0m\0\0\0\0\0'
        def encoded(header, body, code, pack):
            packed = pack(header)
            return sevenzip(
                body + packed, b'\x17' + streams(len(body), len(packed), code, len(header)) + b'\0')
        raw = lambda id: lambda data: lzma.compress(data, format=lzma.FORMAT_RAW, filters=[{'id': id, 'dict_size': 1 << 16}])
        raw1, raw2 = raw(lzma.FILTER_LZMA1), raw(lzma.FILTER_LZMA2)
        def lzma1(window): return coder(b'\3\1\1', b'\x5d' + struct.pack('<I', window))
        def lzma2(bits): return coder(b'\x21', bytes([bits]))
        ppmd = lambda memory: coder(b'\3\4\1', b'\6' + struct.pack('<I', memory))
        text = raw1(b'text')
        good = members(lzma1(1 << 16), text, 4)
        write('plain.7z', sevenzip(text, good))
        # Its times are shorter than their length says.
        write('lying-times.7z', sevenzip(text, good[:-2] + b'\x14' + number(12) + b'\1\0' + bytes(8) + b'\0\0'))
        write('sfx-7z', program + sevenzip(text, good))
        # Their windows are of 1 GiB, or there are too many members, or too long a header; these are compressed or not.
        large = members(lzma1(1 << 30), text, 4)
        write('window.7z', sevenzip(text, large))
        write('window2.7z', sevenzip(raw2(b'text'), members(lzma2(36), raw2(b'text'), 4)))
        write('model.7z', sevenzip(text, members(ppmd(1 << 30), text, 4)))
        write('encoded.7z', encoded(good, text, lzma1(1 << 16), raw1))
        write('encoded2.7z', encoded(good, text, lzma2(8), raw2))
        write('encoded-window.7z', encoded(large, text, lzma1(1 << 16), raw1))
        write('header-window.7z', encoded(good, text, lzma1(1 << 30), raw1))
        write('header-window2.7z', encoded(good, text, lzma2(36), raw2))
        write('members.7z', sevenzip(b'', b'\1\5' + number(50_000_000) + b'\0\0'))
        # What it says of its length is not what it has.
        write('long-header.7z', sevenzip(text, b'\x17' + streams(0, len(text), lzma1(1 << 16), 1 << 28) + b'\0'))
        write('encoded-members.7z', encoded(b'\1\5' + number(50_000_000) + b'\0\0', b'', lzma1(1 << 16), raw1))
        write('folders.7z', sevenzip(b'', b'\1\4\7\x0b' + number(50_000_000) + b'\0'))
        # The same, in headers that the library takes and others do not, or takes for other ones than they are.
        write('astray-properties.7z', sevenzip(text, b'\1\2\0' + large[1:]))
        odd = b'\x33\3\1\1' + number(40) + number(1) + b'\5\x5d' + struct.pack('<I', 1 << 30)
        write('astray-streams.7z', sevenzip(text, b'\1\4' + b'\6\0\1\x09' + number(len(text)) + b'\0'
            + b'\7\x0b\1\0\1' + odd + bytes(40) + b'\x0c' + number(4) + b'\0' + b'\x08\0\0'
            + b'\5\1\x11\5\0m\0\0\0\0\0'))
        write('astray-external.7z', sevenzip(
            b'', b'\1\4\7\x0b\0\1\0\x0c\0\0' + b'\5' + number(50_000_000) + b'\0\0'))
        def sized(archive, count):
            start = archive[12:20] + struct.pack('<Q', count) + archive[28:32]
            return archive[:8] + crc(start) + start + archive[32:]
        write('astray-length.7z', sized(sevenzip(text, large), 4096))
        write('astray-program.7z', b'\x7fELF' + bytes(0x27000 - 4) + sevenzip(text, large)[:8] + b'oops' + sevenzip(text, large)[12:])
        packed1 = raw1(large + bytes(9))
        split = raw1(good + large)
        write('astray-division.7z', sevenzip(
            text + split, b'\x17' + streams(len(text), len(split), lzma1(1 << 16), len(good + large))[:-1]
            + b'\0\x08\x0d\2\x09' + number(len(good)) + b'\0\0'))
        # A second stream and a second block of xz with windows of their own, a second member of lzip.
        def variable(value): return bytes([value & 0x7F | 0x80]) + variable(value >> 7) if value > 0x7F else bytes([value])
        def xz(blocks, flags=b'\0\1'):
            stream, records = b'\xfd7zXZ\0' + flags + crc(flags), b''
            for bits, data, size in blocks:
                header = b'\2\0\x21\1' + bytes([bits]) + bytes(3)
                header += crc(header)
                # The checksum of the content follows the padding.
                records += variable(len(header) + len(data) + 4) + variable(size)
                stream += header + data + bytes(-len(data) % 4) + crc(content[:size])
            index = b'\0' + variable(len(blocks)) + records
            index += bytes(-len(index) % 4)
            index += crc(index)
            footer = struct.pack('<I', len(index) // 4 - 1) + flags
            return stream + index + crc(footer) + footer + b'YZ'
        # Chunks of LZMA2 that are compressed and such that are not.
        content = bytes(70_000) + bytes((i * i * 2654435761 >> 13) & 255 for i in range(130_000))
        packed = raw2(content)
        write('windowed', content)
        write('blocks.xz', xz([(8, packed, 200_000)] * 3) + bytes(8) + xz([]) + xz([(18, raw2(content[:9]), 9)]))
        write('second-block.xz', xz([(8, packed, 200_000), (36, packed, 200_000)]))
        write('second-stream.xz', xz([(8, packed, 200_000)]) + bytes(4) + xz([(36, raw2(content[:9]), 9)]))
        def lzip(bits, data):
            packed = raw1(data)
            return b'LZIP\1' + bytes([bits]) + packed + crc(data) + struct.pack('<QQ', len(data), len(packed) + 26)
        write('members.lz', lzip(16, content) + lzip(27, b'text'))
        write('second-member.lz', lzip(16, content) + lzip(29, b'text'))
        # Members of a zip in these formats.
        alone = b'\x09\x14\5\0\x5d'
        write('lzma.zip', zipped(b'm', b'text', alone + struct.pack('<I', 1 << 16) + text, 14, 2))
        write('lzma-window.zip', zipped(b'm', b'text', alone + struct.pack('<I', 1 << 30) + text, 14, 2))
        write('xz.zip', zipped(b'm', content, xz([(8, packed, 200_000)]), 95))
        write('xz-streamed.zip', zipped(
            b'm', content, xz([(8, packed, 200_000)]), 95, 8, local=(0, 0, 200_000),
            descriptor=b'PK\7\x08' + crc(content) + struct.pack('<II', len(xz([(8, packed, 200_000)])), 200_000)))
        write('xz-window.zip', zipped(b'm', content * 2, xz([(8, packed, 200_000), (36, packed, 200_000)]), 95))
        write('ppmd-model.zip', zipped(b'm', b'text', struct.pack('<H', 5 | 255 << 4) + text, 98))
        write('zstd-window.zip', zipped(b'm', b'text', b'\x28\xb5\x2f\xfd\0' + bytes([18 << 3]) + bytes(9), 93))
        with zipfile.ZipFile('empty-lzma.zip', 'w', zipfile.ZIP_LZMA) as archive: archive.writestr('m', b'')
        # The package of a program, as RPM makes it: a lead, two headers, a compressed cpio.
        tags = lambda count: b'\x8e\xad\xe8\1' + bytes(4) + struct.pack('>II', 1, count) + bytes(16) + bytes(count)
        package = b'\xed\xab\xee\xdb\3\0' + bytes(90) + tags(5) + bytes(3) + tags(13)
        cpio = open('links.cpio', 'rb').read()
        write('gzip.rpm', package + gzip.compress(cpio, mtime=0))
        write('xz.rpm', package + lzma.compress(cpio))
        write('plain.rpm', package + cpio)
        # A sparse file of Solaris: its holes are listed, and stored like everything else.
        def tarHeader(name, size, type):
            block = bytearray(512)
            for place, text in [(0, name), (100, b'0000644\0'), (108, b'0000000\0'), (116, b'0000000\0'),
                                (124, b'%011o\0' % size), (136, b'00000000000\0'), (148, b' ' * 8), (156, type),
                                (257, b'ustar\x0000')]: block[place:place + len(text)] = text
            total = 0
            for byte in block: total += byte
            block[148:156] = b'%06o\0 ' % total
            return bytes(block)
        def filled(data): return data + bytes(-len(data) % 512)
        record = b' SUN.holesdata= 0 1024 2048\n'
        record = b'%d' % (len(record) + 2) + record
        holes = b'd' * 512 + bytes(512) + b'e' * 1024
        write('solaris.tar', tarHeader(b'pax', len(record), b'x') + filled(record)
            + tarHeader(b'sparse', 2048, b'0') + holes + tarHeader(b'next', 4, b'0') + filled(b'next') + bytes(1024))
        """#
}
