#!/usr/bin/env python3
"""Compares `blob extract` with the installed tools, in one run.

usage: Benchmarks/extract.py BLOB [--small N] [--tiny N] [--large-size MIB] [--runs N] [--folder DIR]

Generates its data, the same in every run: a tree of small files, a tree of many files of about 100 bytes, and a few
large files, as tar, tar.gz and zip. With --folder /dev/shm, little of the CPU time is spent in the file system. Prints
medians, and the medians of the ratios of neighbouring runs (below 1: blob is faster).
"""
import argparse, os, random, shutil, subprocess, sys, tempfile

from measuring import banner, compare, mixed_pieces, tool, write_mixed

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--small', type=int, default=20000, help='number of small files (default 20000)')
parser.add_argument('--tiny', type=int, default=65536, help='number of tiny files (default 65536)')
parser.add_argument('--large-size', type=int, default=100, help='MiB of each of four large files (default 100)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
options = parser.parse_args()
blob, bsdtar, tar, unzip, sevenzip = os.path.abspath(options.blob), *map(tool, ('bsdtar', 'tar', 'unzip', '7z'))


def write_small(folder):
    """Writes files of 100 bytes to 20 KiB, 50 per folder."""
    rng, pieces = random.Random(5), list(mixed_pieces(4))
    for number in range(options.small):
        parent = os.path.join(folder, f'{number // 1000}', f'{number // 50}')
        os.makedirs(parent, exist_ok=True)
        piece, first = rng.choice(pieces), rng.randrange(1 << 19)
        with open(os.path.join(parent, f'{number}.txt'), 'wb') as file:
            file.write(piece[first:first + int(100 * 200 ** rng.random())])


def write_tiny(folder):
    """Writes files of 60 to 140 bytes, 256 per folder: a fifth is random, which a zip stores; the rest is text."""
    rng = random.Random(6)
    words = [''.join(rng.choices('etaoinshrdlu', k=rng.randrange(2, 9))) for _ in range(40)]
    for number in range(options.tiny):
        parent = os.path.join(folder, f'{number // 4096}', f'{number // 256}')
        os.makedirs(parent, exist_ok=True)
        count = rng.randrange(60, 141)
        data = rng.randbytes(count) if rng.random() < 0.2 else ' '.join(rng.choices(words, k=70)).encode()[:count]
        with open(os.path.join(parent, f'{number}.txt'), 'wb') as file:
            file.write(data)


def write_large(folder):
    os.mkdir(folder)
    for number in range(4):
        write_mixed(os.path.join(folder, f'{number}.bin'), options.large_size)


def measure(base, name):
    out = os.path.join(base, 'out')

    def empty(_):
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out)

    for suffix in ('tar', 'tar.gz', 'zip'):
        path = os.path.join(base, f'{name}.{suffix}')
        if suffix == 'zip' and sevenzip:
            command = [sevenzip, 'a', '-tzip', '-mx=3', '-bso0', path, name]
        elif suffix == 'zip':
            command = [sys.executable, '-m', 'zipfile', '-c', path, name]
        else:
            command = [tar, '-cf' if suffix == 'tar' else '-czf', path, name]
        subprocess.run(command, cwd=base, check=True)
        goal = 'at most 1.2 of the best'
        if name == 'tiny':
            goal = 'at most 1.3 of the CPU of unzip' if suffix == 'zip' else ''
        compare(f'{name} files of a {suffix}', [
            ('blob extract', [blob, 'extract', '--index', 'none', path, '-C', out]),
            ('bsdtar -x', bsdtar and [bsdtar, '-xf', path, '-C', out]),
            ('tar -x', suffix != 'zip' and [tar, '-xf', path, '-C', out]),
            ('unzip', suffix == 'zip' and unzip and [unzip, '-q', path, '-d', out]),
            ('7z x', suffix == 'zip' and sevenzip and [sevenzip, 'x', '-bso0', '-bsp0', f'-o{out}', path]),
        ], goal, runs=options.runs, before=empty)


with tempfile.TemporaryDirectory(dir=options.folder) as base:
    banner(f'{options.small} small and {options.tiny} tiny files, and 4 of {options.large_size} MiB', blob, options)
    write_small(os.path.join(base, 'small'))
    write_tiny(os.path.join(base, 'tiny'))
    write_large(os.path.join(base, 'large'))
    for name in ('small', 'tiny', 'large'):
        measure(base, name)
