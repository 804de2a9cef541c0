#!/usr/bin/env python3
"""Compares `blob` on several members, repeated reads and nested members with the installed tools, in one run.

usage: Benchmarks/members.py BLOB [--members N] [--large-size MIB] [--runs N] [--folder DIR] [--only WORD]

Generates its data, the same in every run: members of 180 KiB as tar.gz and tar.xz, a large member in a tar.gz, a zip of
20 GiB with a hole in a tar, 7z archives with many folders, and a gzip whose index has only damaged windows. Prints
medians, the medians of the ratios of neighbouring runs (below 1: blob is faster), and the peak memory of one more run
of each command.
"""
import argparse, os, random, struct, subprocess, tarfile, tempfile, zlib

from measuring import banner, compare, mixed_pieces, run, tool, write_mixed

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--members', type=int, default=1000, help='number of members of 180 KiB (default 1000)')
parser.add_argument('--large-size', type=int, default=500, help='MiB of the large member (default 500)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
parser.add_argument('--only', default='', help='run only the measurements with this word in their title')
options = parser.parse_args()
blob, bsdtar, tar, sevenzip = os.path.abspath(options.blob), tool('bsdtar'), tool('tar'), tool('7z')
MEMBER_BYTES = 180 << 10
start = ('blob schemes (start-up)', [blob, 'schemes'])


def measure(title, commands, goal='', **arguments):
    if options.only in title:
        arguments.setdefault('runs', options.runs)
        compare(title, commands, goal, **arguments)


def quiet(*argv, **arguments):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **arguments)


def write_members(folder, count, byte_count, seed=3):
    """Writes files with slices of mixed data; returns their names."""
    os.mkdir(folder)
    rng, pieces = random.Random(seed), list(mixed_pieces(14))
    for number in range(count):
        with open(os.path.join(folder, f'member-{number:04}'), 'wb') as file:
            while (rest := byte_count - file.tell()) > 0:
                piece = rng.choice(pieces)
                first = rng.randrange(len(piece) // 2)
                file.write(piece[first:first + min(rest, len(piece) // 2)])
    return [f'{os.path.basename(folder)}/member-{number:04}' for number in range(count)]


def measure_many(folder):
    names = write_members(os.path.join(folder, 'many'), options.members, MEMBER_BYTES)
    for suffix, flags, count in [('tar.gz', '-czf', 100), ('tar.xz', '-cJf', 20)]:
        path = os.path.join(folder, f'many.{suffix}')
        quiet(tar, '-C', folder, flags, path, *names, env={**os.environ, 'XZ_OPT': '-1'})
        chosen = random.Random(7).sample(names, min(count, len(names)))
        for order in ('in random order', 'in the order of the archive'):
            if order != 'in random order':
                chosen.sort()
            locators = [f'{path}#{name}' for name in chosen]
            lines = os.path.join(folder, 'lines')
            open(lines, 'w').writelines(f'{line}\n' for line in locators)
            measure(f'{len(chosen)} of {len(names)} members of {suffix}, {order}', [
                ('blob cat --from-file', [blob, 'cat', '--index', 'none', '--from-file', lines]),
                ('blob sum', [blob, 'sum', '--index', 'none', *locators]),
                ('bsdtar -xO', bsdtar and [bsdtar, '-xOf', path, *chosen]),
                ('tar -xO', [tar, '-xOf', path, *chosen]),
            ], 'at most 1.2 of bsdtar')
        if suffix == 'tar.gz':
            measure_again(path, names[-2], os.path.join(folder, 'cache'))


def measure_again(path, name, cache):
    """Measures with the index that a first read has stored in the folder for indexes."""
    os.mkdir(cache)
    before = os.environ.get('XDG_CACHE_HOME')
    os.environ['XDG_CACHE_HOME'] = cache
    run([blob, 'cat', f'{path}#{name}'])
    measure('a second cat of a member of tar.gz', [('blob cat', [blob, 'cat', f'{path}#{name}']), start],
            'start-up + 15 ms', runs=max(15, options.runs))
    del os.environ['XDG_CACHE_HOME']
    if before:
        os.environ['XDG_CACHE_HOME'] = before


def measure_offset(folder):
    write_mixed(os.path.join(folder, 'large'), options.large_size)
    path, index = os.path.join(folder, 'large.tar.gz'), os.path.join(folder, 'large.index')
    quiet(tar, '-C', folder, '-czf', path, 'large')
    run([blob, 'index', 'build', path, '--output', index])
    offset = str((options.large_size << 20) - (1 << 20))
    measure(f'4 KiB at {options.large_size - 1} MiB of a member of tar.gz', [
        ('blob cat --index', [blob, 'cat', '--index', index, '--offset', offset, '--length', '4096', f'{path}#large']),
        start,
    ], 'start-up + 12 ms', runs=max(15, options.runs))


def write_nested(path, hole):
    """Writes a tar with a zip: a small member, a stored member that is a hole, a small member (APPNOTE.TXT 4.3)."""
    directory, sum_of_zeros, zeros = b'', 0, bytes(1 << 24)
    for _ in range(hole >> 24):
        sum_of_zeros = zlib.crc32(zeros, sum_of_zeros)
    with open(path, 'wb') as file:
        file.seek(tarfile.BLOCKSIZE)
        place = lambda: file.tell() - tarfile.BLOCKSIZE
        for name, content in [(b'a.txt', b'first\n'), (b'hole', None), (b'z.txt', b'last\n')]:
            header = place()
            count = hole if content is None else len(content)
            checksum = sum_of_zeros if content is None else zlib.crc32(content)
            # Always uses 64-bit fields (ZIP64), regardless of the values.
            fixed = struct.pack('<HHHHHIIIHH', 45, 0, 0, 0, 33, checksum, 0xFFFFFFFF, 0xFFFFFFFF, len(name), 20)
            file.write(b'PK\3\4' + fixed + name + struct.pack('<HHQQ', 1, 16, count, count))
            if content is None:
                file.seek(count, os.SEEK_CUR)
            else:
                file.write(content)
            fixed = fixed[:-2] + struct.pack('<HHHHII', 28, 0, 0, 0, 0, 0xFFFFFFFF)
            directory += (b'PK\1\2\x2d\0' + fixed + name + struct.pack('<HHQQQ', 1, 24, count, count, header))
        start = place()
        file.write(directory)
        end = place()
        file.write(b'PK\6\6' + struct.pack('<QHHIIQQQQ', 44, 45, 45, 0, 0, 3, 3, len(directory), start))
        file.write(b'PK\6\7' + struct.pack('<IQI', 0, end, 1))
        file.write(b'PK\5\6' + struct.pack('<HHHHIIH', 0, 0, 3, 3, len(directory), 0xFFFFFFFF, 0))
        header = tarfile.TarInfo('hollow.zip')
        header.size = place()
        file.truncate((file.tell() + 511) // 512 * 512 + 1024)
        file.seek(0)
        file.write(header.tobuf(tarfile.GNU_FORMAT))


def measure_nested(folder):
    path = os.path.join(folder, 'outer.tar')
    write_nested(path, 20 << 30)
    for name in ('a.txt', 'z.txt'):
        measure(f'{name} of a zip of 20 GiB in a tar', [
            ('blob cat', [blob, 'cat', f'{path}#hollow.zip!/{name}']), start,
        ], 'start-up + 20 ms', runs=max(15, options.runs))


def measure_folders(folder):
    if not sevenzip:
        return
    for count, byte_count in [(20, 8 << 20), (200, 200 << 10)]:
        base = os.path.join(folder, f'folders{count}')
        names = write_members(base, count, byte_count, seed=count)
        path = f'{base}.7z'
        quiet(sevenzip, 'a', '-mx=1', '-ms=off', path, base)
        for name in (names[0], names[count // 2], names[-1]):
            measure(f'{name} of a 7z of {count} folders', [
                ('blob cat', [blob, 'cat', f'{path}#{name}', '--index', 'none']),
                ('bsdtar -xO', bsdtar and [bsdtar, '-xOf', path, name]),
                ('bsdtar -xOq', bsdtar and [bsdtar, '-xOqf', path, name]),
                ('7z e -so', [sevenzip, 'e', '-so', '-bsp0', path, name]), start,
            ], 'at most 1.2 of bsdtar', runs=max(11, options.runs))


def damage_windows(index):
    """Changes every 64th byte of an index file after its first eighth, where the windows are."""
    with open(index, 'r+b') as file:
        size = os.path.getsize(index)
        for place in range(size // 8, size - 4096, 64):
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 0x55]))


def measure_damage(folder):
    path, index = os.path.join(folder, 'large.gz'), os.path.join(folder, 'damaged.index')
    with open(path, 'wb') as output:
        subprocess.run([tool('gzip'), '-6', '-c', os.path.join(folder, 'large')], stdout=output, check=True)
    run([blob, 'index', 'build', f'gzip+{path}', '--output', index])
    damage_windows(index)
    taskset = tool('taskset')
    one_core = [taskset, '-c', '0'] if taskset else []
    measure('decoding gzip with an index whose windows are all damaged', [
        ('blob cat --index', [*one_core, blob, 'cat', '--index', index, f'gzip+{path}']),
        ('blob cat --index none', [*one_core, blob, 'cat', '--index', 'none', f'gzip+{path}']),
    ], 'at most 1.3 of the CPU without an index')


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    banner(f'{options.members} members of 180 KiB', blob, options)
    measure_many(folder)
    measure_offset(folder)
    measure_nested(folder)
    measure_folders(folder)
    measure_damage(folder)
