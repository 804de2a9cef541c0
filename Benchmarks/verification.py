#!/usr/bin/env python3
"""Compares `blob test` with each format's own program, which uses one thread, in turn in one run.

usage: Benchmarks/verification.py BLOB [--size MIB] [--runs N] [--folder DIR] [--only WORD]

Generates its data, the same in every run, as one file in each format. Prints medians, the medians of the ratios of
neighbouring runs (below 1: blob is faster), with a goal for the ratios of the CPU seconds, and the peak memory of one
more run of each command.
"""
import argparse, os, subprocess, tempfile

from measuring import banner, compare, tool, write_mixed

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--size', type=int, default=1024, help='MiB of the decoded data (default 1024)')
parser.add_argument('--runs', type=int, default=3, help='counted runs of each command (default 3)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
parser.add_argument('--only', default='', help='run only the formats with this word in their names')
options = parser.parse_args()
blob = os.path.abspath(options.blob)

# The name of the file, the command that creates it from the file 'mixed', on standard output or directly, and the
# peer.
FORMATS = [
    ('mixed.gz', ['gzip', '-6', '-n', '-c', 'mixed'], ['gzip', '-t']),
    ('mixed.bz2', ['bzip2', '-c', 'mixed'], ['bzip2', '-t']),
    ('mixed.xz', ['xz', '-1', '-T1', '-c', 'mixed'], ['xz', '-t', '-T1']),
    ('mixed.lz', ['lzip', '-0', '-c', 'mixed'], ['lzip', '-t']),
    ('mixed.zst', ['zstd', '-q', '-c', 'mixed'], ['zstd', '-q', '-t']),
    ('mixed.zip', ['zip', '-q', 'mixed.zip', 'mixed'], ['unzip', '-tqq']),
    ('mixed.7z', ['7z', 'a', '-mx=1', '-mmt1', '-bso0', '-bsp0', 'mixed.7z', 'mixed'], ['7z', 't', '-mmt1', '-bso0', '-bsp0']),
    ('mixed.tar', ['tar', '-cf', 'mixed.tar', 'mixed'], ['bsdtar', '-xOf']),
]


def main(folder):
    write_mixed(os.path.join(folder, 'mixed'), options.size)
    banner(f'{options.size} MiB', blob, options)
    for name, command, peer in FORMATS:
        programs = tool(command[0]), tool(peer[0])
        if options.only not in name or not all(programs):
            continue
        path = os.path.join(folder, name)
        with open(path if '-c' in command else os.devnull, 'wb') as output:
            subprocess.run([programs[0], *command[1:]], cwd=folder, stdout=output, check=True)
        compare(f'testing {name.partition(".")[2]}', [
            ('blob test', [blob, 'test', '--progress', 'never', path]),
            (' '.join(word for word in peer if not word.startswith('-bs')), [programs[1], *peer[1:], path]),
        ], 'at most 1.1 of the CPU seconds', runs=options.runs)
        os.remove(path)


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    main(folder)
