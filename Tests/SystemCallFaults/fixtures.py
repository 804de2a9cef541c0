#!/usr/bin/env python3
"""The files that run.py reads under faults, made by other tools than the one that is tested."""
import bz2, gzip, io, lzma, os, random, shutil, struct, subprocess, sys, tarfile, zipfile, zlib

# The password of the encrypted members.
PASSWORD = 'secret'


def content(count, seed=1):
    """Bytes that compress to about a half, the same in every run."""
    generator = random.Random(seed)
    return generator.randbytes(count).translate(bytes(i & 15 for i in range(256)))


def bgzf(data):
    blocks = b''
    for start in list(range(0, len(data), 65_000)) + [len(data)]:
        part = data[start:start + 65_000]
        deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
        body = deflate.compress(part) + deflate.flush()
        blocks += b'\x1f\x8b\x08\4' + bytes(5) + b'\xff\6\0BC\2\0' + struct.pack('<H', len(body) + 25) + body \
            + struct.pack('<II', zlib.crc32(part), len(part))
    return blocks


def rar(name, data):
    """A stored member of RAR 5."""
    def number(value):
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)

    def block(kind, flags, fields, data=b''):
        body = bytes([kind, flags]) + fields
        body = number(len(body)) + body
        return struct.pack('<I', zlib.crc32(body)) + body + data
    size = number(len(data))
    return b'Rar!\x1a\7\1\0' + block(1, 0, b'\0') + block(
        2, 2, size + b'\4' + size + b'\0' + struct.pack('<I', zlib.crc32(data)) + bytes([0, 1, len(name)]) + name,
        data) + block(5, 0, b'\0')


def make(folder):
    """Writes the files. Returns the bytes of their members, by name; those without their tool are left out."""
    big, small = content(5 << 20), content(150_000, 2)

    def write(name, data):
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(data)
    write('small', small)
    write('big', big)
    write('small.gz', gzip.compress(small, 1))
    write('big.gz', gzip.compress(big, 1))
    write('big.bgzf', bgzf(big))
    write('small.bz2', bz2.compress(small, 1))
    write('big.bz2', bz2.compress(big[:1 << 20], 1))
    write('big.xz', b''.join(lzma.compress(big[i:i + (1 << 18)], preset=0) for i in range(0, 1 << 20, 1 << 18)))
    for name, mode in (('a.tar', 'w'), ('a.tar.gz', 'w:gz')):
        with tarfile.open(os.path.join(folder, name), mode, format=tarfile.PAX_FORMAT) as archive:
            for member, data in (('one', b'first'), ('small', small), ('n' * 200, b'last')):
                info = tarfile.TarInfo(member)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    with zipfile.ZipFile(os.path.join(folder, 'a.zip'), 'w') as archive:
        archive.writestr('stored', small, zipfile.ZIP_STORED)
        archive.writestr('deflated', small, zipfile.ZIP_DEFLATED, 1)
        archive.writestr('lzma', small, zipfile.ZIP_LZMA)
    write('a.rar', rar(b'small', small))
    write('ranges', b'4000000 1000\n10 20\n2500000 70000\n')
    write('password', PASSWORD.encode() + b'\n')

    def tool(*words):
        if shutil.which(words[0]):
            subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    tool('zstd', '-q', '--check', 'small', '-o', 'small.zst')
    tool('bsdtar', '--format', 'iso9660', '-cf', 'a.iso', 'small')
    tool('7z', 'a', '-bso0', '-m0=lzma', '-mx1', 'a.7z', 'small')
    tool('7z', 'a', '-bso0', '-mx1', f'-p{PASSWORD}', 'aes.7z', 'small')
    tool('7z', 'a', '-bso0', '-tzip', '-mx1', '-mem=AES256', f'-p{PASSWORD}', 'aes.zip', 'small')
    tool('7z', 'a', '-bso0', '-m0=ppmd', 'ppmd.7z', 'small')
    return {'small': small, 'big': big}


if __name__ == '__main__':
    # fixtures.py FOLDER
    os.makedirs(sys.argv[1], exist_ok=True)
    make(sys.argv[1])
