#!/usr/bin/env python3
"""Compares `blob` on xz, bzip2 and Zstandard in blocks with the installed tools, in turn in one run.

usage: Benchmarks/blocks.py BLOB [--size MIB] [--runs N] [--folder DIR] [--only WORD]

Generates its data, the same in every run: xz with blocks of 8 MiB, bzip2, and seekable Zstandard with frames of 1 MiB.
Prints medians, the medians of the ratios of neighbouring runs (below 1: blob is faster), and the peak memory of one
more run of each command.
"""
import argparse, os, struct, subprocess, tempfile

from measuring import banner, compare, tool, write_mixed

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--size', type=int, default=256, help='MiB of the decoded data (default 256)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
parser.add_argument('--only', default='', help='run only the measurements with this word in their title')
options = parser.parse_args()
blob = os.path.abspath(options.blob)


def compress(argv, source, target):
    with open(target, 'wb') as output:
        subprocess.run([*argv, source], stdout=output, check=True)


def write_seekable(source, target):
    """Writes frames of 1 MiB and a seek table (zstd_seekable_compression_format.md)."""
    sizes = []
    with open(source, 'rb') as file, open(target, 'wb') as output:
        while part := file.read(1 << 20):
            frame = subprocess.run([tool('zstd'), '-q', '-c', '--check', f'--stream-size={len(part)}'], input=part,
                                   stdout=subprocess.PIPE, check=True).stdout
            output.write(frame)
            sizes.append((len(frame), len(part)))
        table = b''.join(struct.pack('<II', *size) for size in sizes) + struct.pack('<IBI', len(sizes), 0, 0x8F92EAB1)
        output.write(struct.pack('<II', 0x184D2A5E, len(table)) + table)


def measure(title, commands, goal='', **arguments):
    if options.only in title:
        compare(title, commands, goal, runs=options.runs, **arguments)


def main(folder):
    plain = os.path.join(folder, 'mixed')
    write_mixed(plain, options.size)
    banner(f'{options.size} MiB', blob, options)
    taskset = tool('taskset')
    start = ('blob schemes (start-up)', [blob, 'schemes'])
    formats = [
        ('xz', 'xz', [tool('xz'), '-1', '-T0', '--block-size=8MiB', '-c'],
         lambda path: [('xz -dc', [tool('xz'), '-dc', path]), ('xz -dc -T2', [tool('xz'), '-dc', '-T2', path]),
                       ('pixz -d', tool('pixz') and [tool('pixz'), '-d', '-i', path, '-o', '/dev/stdout'])]),
        ('zstd', 'zst', [tool('zstd'), '-q', '-c'], lambda path: [('zstd -dc', [tool('zstd'), '-qdc', path])]),
        ('bzip2', 'bz2', [tool('lbzip2') or tool('bzip2'), '-c'],
         lambda path: [('bzip2 -dc', [tool('bzip2'), '-dc', path]),
                       ('lbzip2 -dc', tool('lbzip2') and [tool('lbzip2'), '-dc', path])]),
    ]
    for scheme, suffix, compressor, peers in formats:
        path = f'{plain}.{suffix}'
        if not compressor[0]:
            continue
        if suffix == 'zst':
            write_seekable(plain, path)
        else:
            compress(compressor, plain, path)
        cat = [blob, 'cat', f'{scheme}+{path}']
        measure(f'decoding {suffix} to /dev/null', [
            ('blob cat', cat), ('blob cat on one core', taskset and [taskset, '-c', '0', *cat]), *peers(path),
        ], '0.625 of one core, at most 160 MiB')
        if suffix != 'bz2':
            # Everything before the offset in its block must be decoded; the middle represents the median of all
            # offsets.
            block = int(0.9 * (options.size >> 3)) << 23
            for part, place in ((0.5, 'the middle'), (0.99, 'the end')):
                offset = str(block + int(part * (8 << 20)))
                measure(f'4 KiB at {place} of 8 MiB near the end of {suffix}', [
                    ('blob cat --offset', [*cat, '--offset', offset, '--length', '4096']), start,
                ], 'start-up + 45 ms' if part < 0.9 else '')


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    main(folder)
