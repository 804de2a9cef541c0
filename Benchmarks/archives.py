#!/usr/bin/env python3
"""Compares `blob` on archives with the installed tools and Python modules, in turn in one run.

usage: Benchmarks/archives.py BLOB [--members N] [--large-size MIB] [--runs N] [--folder DIR] [--only WORD]

Generates its data, the same in every run: many members of 1 to 8 KB, and 20 large ones, as tar, tar.gz, zip and 7z.
Prints medians, the medians of the ratios of neighbouring runs (below 1: blob is faster), and the peak memory of one
more run of each command.
"""
import argparse, io, os, random, subprocess, tarfile, tempfile, zipfile

from measuring import Failure, banner, compare, has_module, measure_python, mixed_pieces, run, tool

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--members', type=int, default=100_000, help='number of small members (default 100000)')
parser.add_argument('--large-size', type=int, default=25, help='MiB of each of the 20 large members (default 25)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
parser.add_argument('--only', default='', help='run only the measurements with this word in their title')
options = parser.parse_args()
blob = os.path.abspath(options.blob)
options.folder = options.folder and os.path.abspath(options.folder)
tar, bsdtar, unzip, sevenzip = tool('tar'), tool('bsdtar'), tool('unzip'), tool('7z')
READ_COUNT, LARGE_COUNT = 100, 20


def small_members():
    rng = random.Random(4)
    pieces = list(mixed_pieces(14))
    for number in range(options.members):
        piece, length = rng.choice(pieces), rng.randrange(1000, 8193)
        start = rng.randrange(len(piece) - length)
        yield f'd{number // 1000:03}/item-{number:06}.json', piece[start:start + length]


def large_members():
    pieces = list(mixed_pieces(14, seed=5))
    order = random.Random(6)
    for number in range(LARGE_COUNT):
        yield f'large-{number:02}.bin', b''.join(order.choice(pieces) for _ in range(options.large_size))


def write_archives(base, members):
    """Writes the members as tar, tar.gz and zip; returns their names and the sum of their lengths."""
    names, total = [], 0
    with tarfile.open(f'{base}.tar', 'w', format=tarfile.USTAR_FORMAT) as tape, \
            zipfile.ZipFile(f'{base}.zip', 'w', zipfile.ZIP_DEFLATED, compresslevel=6) as package:
        for name, content in members:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            tape.addfile(header, io.BytesIO(content))
            package.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            names.append(name)
            total += len(content)
    with open(f'{base}.tar.gz', 'wb') as output:
        subprocess.run([tool('gzip'), '-6', '-n', '-c', f'{base}.tar'], stdout=output, check=True)
    return names, total


def measure(title, commands, goal='', **arguments):
    if options.only in title:
        arguments.setdefault('runs', options.runs)
        return compare(title, commands, goal, **arguments)


# Reads random members in one process, and prints the mean time per member in milliseconds, including opening the index.
RATARMOUNT_READS = '''
import json, sys, time
from ratarmountcore.mountsource.factory import open_mount_source
open_mount_source(sys.argv[1], indexFilePath=sys.argv[2], writeIndex=True)  # Creates a missing index.
names = open(sys.argv[3]).read().split()
start = time.perf_counter()
source = open_mount_source(sys.argv[1], indexFilePath=sys.argv[2])
for name in names:
    with source.open(source.lookup('/' + name)) as file:
        file.read()
print(json.dumps(1000 * (time.perf_counter() - start) / len(names)))
'''
ZIPFILE_READS = '''
import json, sys, time, zipfile
names = open(sys.argv[3]).read().split()
start = time.perf_counter()
with zipfile.ZipFile(sys.argv[1]) as archive:
    for name in names:
        archive.read(name)
print(json.dumps(1000 * (time.perf_counter() - start) / len(names)))
'''


def measure_small(folder):
    base = os.path.join(folder, 'small')
    names, total = write_archives(base, small_members())
    banner(f'{len(names)} members, {total >> 20} MiB', blob, options)
    last = names[-1]
    none = ('--index', 'none')
    packed = {'tar': f'{base}.tar', 'tar.gz': f'{base}.tar.gz', 'zip': f'{base}.zip'}

    def peers(kind, path, name):
        yield 'bsdtar', bsdtar and [bsdtar, '-xOqf', path, name]
        if kind == 'zip':
            yield 'unzip -p', unzip and [unzip, '-p', path, name]
        else:
            yield 'tar --occurrence', tar and [tar, '--occurrence', '-xOf', path, name]

    goals = {'tar': 'at most 0.7 of both', 'tar.gz': 'at most 0.42 of bsdtar', 'zip': 'at most 0.6 of unzip'}
    for kind, path in packed.items():
        measure(f'the last member of {kind}, without an index', [
            ('blob cat', [blob, 'cat', f'{path}#{last}', *none]), *peers(kind, path, last)], goals[kind])
    for kind, path in packed.items():
        measure(f'listing {kind}, without an index', [
            ('blob ls', [blob, 'ls', path, *none]), ('bsdtar -t', bsdtar and [bsdtar, '-tf', path])],
            f'at most {0.4 if kind == "tar.gz" else 0.8} of bsdtar')

    rng = random.Random(7)
    chosen = rng.sample(names, READ_COUNT)
    chosen_names = os.path.join(folder, 'chosen')
    open(chosen_names, 'w').write('\n'.join(chosen) + '\n')
    for kind, path in packed.items():
        index = f'{path}.blobindex'

        def drop(name):
            if 'build' in name and os.path.exists(index):
                os.remove(index)

        measure(f'building the index of {kind}', [
            ('blob index build', [blob, 'index', 'build', path, '--output', index]),
            ('blob ls, without an index', [blob, 'ls', path, *none]),
        ], 'at most 1.2 of blob ls, at most 30 bytes a member', before=drop)
        try:
            run([blob, 'index', 'build', path, '--output', index])
        except Failure:
            continue
        print(f'  {os.path.getsize(index)} bytes, {os.path.getsize(index) / len(names):.1f} a member '
              f'(of tar.gz with restart points)', flush=True)
        measure(f'any member of {kind}, with an index, whole process', [
            ('blob cat', [blob, 'cat', f'{path}#{last}', '--index', index]), *peers(kind, path, last),
            ('true (start-up)', [tool('true')])], 'under 0.012 s', runs=max(15, options.runs))
        measure(f'listing {kind}, with an index', [
            ('blob ls', [blob, 'ls', path, '--index', index]), ('bsdtar -t', bsdtar and [bsdtar, '-tf', path])])
        locators = os.path.join(folder, f'{kind}.locators')
        open(locators, 'w').writelines(f'{path}#{name}\n' for name in chosen)
        title = f'{READ_COUNT} random members of {kind} in one process, with an index'
        if kind == 'zip':
            more = [('unzip -p, all names', unzip and [unzip, '-p', path, *chosen])]
        else:
            more = [('tar -T', tar and [tar, '-xOf', path, '-T', chosen_names])]
        result = measure(title, [('blob cat --from-file', [blob, 'cat', '--from-file', locators, '--index', index]),
                                 *more, ('bsdtar -T', bsdtar and [bsdtar, '-xOf', path, '-T', chosen_names])],
                         'at most 0.5 of the best peer' if kind == 'zip' else 'at most 0.2 of the best peer')
        if not result:
            continue
        ours = 1000 * result['blob cat --from-file'] / READ_COUNT
        modules = [('Python zipfile', ZIPFILE_READS)] if kind == 'zip' else []
        if has_module('ratarmountcore'):
            modules.append(('ratarmount, index kept', RATARMOUNT_READS))
        for name, code in modules:
            each = measure_python(code, path, f'{path}.ratarmount', chosen_names)
            print(f'  {name:<34} failed' if each is None else
                  f'  {name:<34} {each:>9.3f} ms a member, in process; ours {ours:.3f}, whole process: '
                  f'{ours / each:.2f}', flush=True)


def measure_large(folder):
    base = os.path.join(folder, 'large')
    names, total = write_archives(base, large_members())
    banner(f'{len(names)} members, {total >> 20} MiB', blob, options)
    last = names[-1]
    for kind, peers, goal in (
        ('tar', [('tar', [tar, '-xOf', f'{base}.tar', last])], '< 24 MiB'),
        ('tar.gz', [], '< 24 MiB'),
        ('zip', [('unzip -p', unzip and [unzip, '-p', f'{base}.zip', last])],
         'at most 0.33 of unzip, 1 of bsdtar, < 24 MiB'),
    ):
        measure(f'the last large member of {kind}, without an index', [
            ('blob cat', [blob, 'cat', f'{base}.{kind}#{last}', '--index', 'none']), *peers,
            ('bsdtar', bsdtar and [bsdtar, '-xOqf', f'{base}.{kind}', last])], goal)
    title = 'the last large member of a solid 7z'
    if not sevenzip or options.only not in title:
        return
    files = os.path.join(folder, 'files')
    os.mkdir(files)
    for name, content in large_members():
        with open(os.path.join(files, name), 'wb') as file:
            file.write(content)
    subprocess.run([sevenzip, 'a', '-ms=on', '-mx=3', '-bso0', '-bsp0', f'{base}.7z', '.'], cwd=files, check=True)
    measure(title, [('blob cat', [blob, 'cat', f'{base}.7z#{last}']),
                    ('7z e -so', [sevenzip, 'e', '-so', '-bsp0', f'{base}.7z', last])],
            'at most 1.1 of the CPU of 7z, < 48 MiB')


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    measure_small(folder)
with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    measure_large(folder)
