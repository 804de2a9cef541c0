#!/usr/bin/env python3
"""Compares `blob` on plain files with common tools, in turn in one run.

usage: Benchmarks/files.py BLOB [--size GIB] [--runs N] [--folder DIR]

Prints medians, the medians of the ratios of neighbouring runs (below 1: blob is faster), and the peak memory of one
more run of each command. The file is read from the page cache.
"""
import argparse, os, tempfile

from measuring import banner, compare, tool

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--size', type=float, default=4, help='GiB of the large file (default 4)')
parser.add_argument('--runs', type=int, default=7, help='counted runs of each command (default 7)')
parser.add_argument('--folder', default=None, help='folder for the file (default: the folder for temporary files)')
options = parser.parse_args()
blob = os.path.abspath(options.blob)


def write(path, mebibytes):
    """Writes noise in which no two mebibytes are equal."""
    piece = os.urandom(1 << 20)
    with open(path, 'wb') as file:
        for number in range(mebibytes):
            file.write(number.to_bytes(8, 'little') + piece[8:])


def measure(title, arguments, peer, goal='', **more):
    name = os.path.basename(peer[0])
    compare(title, [(f'blob {arguments[0]}', [blob, *arguments]), (name, [tool(name), *peer[1:]])], goal,
            **{'runs': options.runs, **more})


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    large, middle = os.path.join(folder, 'large'), os.path.join(folder, 'middle')
    write(large, int(options.size * 1024))
    write(middle, min(1024, int(options.size * 1024)))
    end = os.path.getsize(large) - 65536
    few = max(20, options.runs)
    banner(f'A file of {options.size:g} GiB', blob, options)
    measure('cat to /dev/null', ['cat', large], ['cat', large], 'wall at most 1.05, < 24 MiB')
    measure('cat into a pipe', ['cat', large], ['cat', large], 'wall at most 0.33', into_pipe=True)
    measure('the SHA-256 of 1 GiB', ['sum', middle], ['openssl', 'dgst', '-sha256', middle], 'wall at most 1.05')
    measure('64 KiB near the end', ['cat', '--offset', str(end), '--length', '65536', large],
            ['dd', f'if={large}', 'bs=65536', f'skip={end // 65536}', 'count=1', 'status=none'],
            'blob under 0.010 s', runs=few)
    measure('start-up', ['schemes'], ['true'], 'blob about 0.004 s', runs=few)
    many = [os.path.join(folder, f'{number}') for number in range(20000)]
    for path in many:
        with open(path, 'w') as file:
            file.write(path)
    measure('the SHA-256 of 20,000 small files', ['sum', *many], ['sha256sum', *many], 'wall at most 2')
    measure('20,000 small files to /dev/null', ['cat', *many], ['cat', *many])
