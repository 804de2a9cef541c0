#!/usr/bin/env python3
"""Compares `blob` on gzip with the installed tools and Python modules, in turn in one run.

usage: Benchmarks/gzip_files.py BLOB [--size MIB] [--runs N] [--folder DIR] [--only WORD]

Generates its data, the same in every run: one member by gzip -6, 64 members, and BGZF. Prints medians, the medians of
the ratios of neighbouring runs (below 1: blob is faster), and the peak memory of one more run of each command.
"""
import argparse, os, random, statistics, struct, subprocess, tempfile, zlib

from measuring import Failure, banner, compare, has_module, measure_python, run, tool, write_mixed

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--size', type=int, default=512, help='MiB of the decoded data (default 512)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
parser.add_argument('--only', default='', help='run only the measurements with this word in their title')
options = parser.parse_args()
blob = os.path.abspath(options.blob)
options.folder = options.folder and os.path.abspath(options.folder)
igzip, rapidgzip = tool('igzip'), tool('rapidgzip')
READ_COUNT, READ_SIZE = 200, 65536


def write_members(source, path, count):
    """Writes the same data as `count` gzip members."""
    size = os.path.getsize(source)
    with open(source, 'rb') as file, open(path, 'wb') as output:
        for number in range(count):
            encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
            output.write(encoder.compress(file.read(size * (number + 1) // count - file.tell())) + encoder.flush())


def write_bgzf(source, path):
    """Writes blocks of 65280 bytes with their length in the extra field BC, as bgzip does (SAM specification, 4.1)."""
    with open(source, 'rb') as file, open(path, 'wb') as output:
        while True:
            block = file.read(65280)
            encoder = zlib.compressobj(6, zlib.DEFLATED, -15)
            data = encoder.compress(block) + encoder.flush()
            output.write(struct.pack('<4BI2BH2B2H', 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(data) + 25) + data
                         + struct.pack('<2I', zlib.crc32(block), len(block)))
            if not block:
                return


def wanted(title):
    return options.only in title


def measure(title, commands, goal='', **arguments):
    if wanted(title):
        arguments.setdefault('runs', options.runs)
        return compare(title, commands, goal, **arguments)


# Reads at random offsets in one process, and prints the median time per read in milliseconds.
RAPIDGZIP_READS = '''
import json, statistics, sys, time, rapidgzip
file = rapidgzip.open(sys.argv[1], parallelization=1)
file.import_index(sys.argv[2])
times = []
for line in open(sys.argv[3]):
    offset, length = map(int, line.split())
    start = time.perf_counter()
    file.seek(offset)
    assert len(file.read(length)) == length
    times.append(time.perf_counter() - start)
file.close()
print(json.dumps(1000 * statistics.median(times)))
'''
INDEXED_GZIP_READS = RAPIDGZIP_READS.replace(', rapidgzip', ', indexed_gzip').replace(
    'rapidgzip.open(sys.argv[1], parallelization=1)', 'indexed_gzip.IndexedGzipFile(sys.argv[1])')
INDEXED_GZIP_BUILD = '''
import json, os, sys, time, indexed_gzip
start = time.perf_counter()
file = indexed_gzip.IndexedGzipFile(sys.argv[1], spacing=1 << 20)
file.build_full_index()
file.export_index(sys.argv[2])
print(json.dumps(round(time.perf_counter() - start, 2)))
'''


def measure_reads(kind, path, index, size, folder):
    title = f'{READ_COUNT} random reads of 64 KiB in one process, {kind}, with an index'
    if not wanted(title):
        return
    rng = random.Random(3)
    ranges, first = os.path.join(folder, 'ranges'), os.path.join(folder, 'first')
    lines = [f'{rng.randrange(size - READ_SIZE)} {READ_SIZE}\n' for _ in range(READ_COUNT)]
    open(ranges, 'w').writelines(lines)
    open(first, 'w').write('0 0\n')
    print(f'\n{title}   goal: under 0.4 ms')
    cat = [blob, 'cat', f'gzip+{path}', '--index', index, '--ranges']
    all_of_them, start_up = [], []
    run(cat + [ranges])
    for _ in range(2 * options.runs):
        start_up.append(run(cat + [first])[0])
        all_of_them.append(run(cat + [ranges])[0])
    mean = 1000 * (statistics.median(all_of_them) - statistics.median(start_up)) / READ_COUNT
    print(f'  {"blob cat --ranges":<34} {mean:>9.3f} ms a read (mean, without a start-up of '
          f'{1000 * statistics.median(start_up):.1f} ms)')
    for module, code in (('rapidgzip', RAPIDGZIP_READS), ('indexed_gzip', INDEXED_GZIP_READS)):
        if has_module(module) and os.path.exists(f'{path}.{module}'):
            median = measure_python(code, path, f'{path}.{module}', ranges)
            print(f'  {"Python " + module:<34} failed' if median is None else
                  f'  {"Python " + module:<34} {median:>9.3f} ms a read (median)   ours/this: {mean / median:.3f}')


def main(folder):
    plain = os.path.join(folder, 'mixed')
    write_mixed(plain, options.size)
    size = os.path.getsize(plain)
    one, many, bgzf = (f'{plain}.{kind}.gz' for kind in ('one', 'many', 'bgzf'))
    with open(one, 'wb') as output:
        subprocess.run([tool('gzip'), '-6', '-n', '-c', plain], stdout=output, check=True)
    write_members(plain, many, 64)
    write_bgzf(plain, bgzf)
    os.remove(plain)
    banner(f'{options.size} MiB, gzip -6 makes a {size / os.path.getsize(one):.2f}th of it', blob, options)
    cat = lambda path, *more: [blob, 'cat', f'gzip+{path}', *more]
    none = ('--index', 'none')
    start = ('true (start-up)', [tool('true')])

    measure('decoding one member to /dev/null', [
        ('blob cat', cat(one, *none)), ('igzip -dc', [igzip, '-dc', one]), ('gzip -dc', [tool('gzip'), '-dc', one]),
        ('pigz -dc', [tool('pigz'), '-dc', one]), ('rapidgzip -P 2', [rapidgzip, '-P', '2', '-dc', one]),
    ], 'at least igzip (aim 0.91), < 16 MiB')
    measure('decoding one member into a pipe', [('blob cat', cat(one, *none)), ('igzip -dc', [igzip, '-dc', one])],
            'at most 0.5', into_pipe=True)

    index = {path: f'{path}.blobindex' for path in (one, many, bgzf)}

    def drop(name):
        for path in index.values():
            if 'build' in name and os.path.exists(path):
                os.remove(path)

    for kind, path in (('one member', one), ('64 members', many), ('BGZF', bgzf)):
        export = f'{path}.rapidgzip'
        offset = size * 9 // 10
        part = ('--offset', str(offset), '--length', str(READ_SIZE))
        ranges = lambda *more: rapidgzip and [
            rapidgzip, '-P', '2', '-dc', '--ranges', f'{READ_SIZE}@{offset}', *more, path]
        measure(f'64 KiB at 90 % of {kind}, without an index', [
            ('blob cat', cat(path, *none, *part)), ('rapidgzip -P 2', ranges()),
        ], 'under 0.025 s' if path == bgzf else 'at least rapidgzip')
        if path != one:
            measure(f'decoding {kind} without an index', [
                ('blob cat', cat(path, *none)), ('igzip -dc', [igzip, '-dc', path]),
                ('bgzip -@ 2 -dc', path == bgzf and [tool('bgzip'), '-@', '2', '-dc', path]),
            ], 'at most 0.62 of igzip on 2 cores, < 32 MiB')
        measure(f'building the index of {kind}', [
            ('blob index build', [blob, 'index', 'build', f'gzip+{path}', '--output', index[path]]),
            ('blob cat, without an index', cat(path, *none)),
            ('rapidgzip --export-index, -P 1',
             rapidgzip and [rapidgzip, '-f', '-P', '1', '-d', '-o', '/dev/null', '--export-index', export, path]),
        ], 'at most 1.25 of blob cat, < 32 MiB, at most 0.4 % of the output', before=drop)
        try:
            run([blob, 'index', 'build', f'gzip+{path}', '--output', index[path]])
        except Failure:
            continue
        if rapidgzip:
            run([rapidgzip, '-f', '-P', '1', '-d', '-o', '/dev/null', '--export-index', export, path])
        sizes = [('blob', index[path]), ('rapidgzip', export)]
        if has_module('indexed_gzip') and path == one:
            seconds = measure_python(INDEXED_GZIP_BUILD, path, f'{path}.indexed_gzip')
            sizes.append((f'indexed_gzip, built in {seconds} s', f'{path}.indexed_gzip'))
        print('  ' + '; '.join(
            f'{name} {os.path.getsize(file)} bytes, {100 * os.path.getsize(file) / size:.3f} %'
            for name, file in sizes if os.path.exists(file)))

        measure(f'decoding {kind} with an index', [
            ('blob cat', cat(path, '--index', index[path])), ('igzip -dc', [igzip, '-dc', path]),
            ('rapidgzip -P 2', rapidgzip and [rapidgzip, '-P', '2', '-dc', '--import-index', export, path]),
        ], 'at most 0.62 of igzip on 2 cores, < 32 MiB')
        measure(f'64 KiB at 90 % of {kind}, with an index, whole process', [
            ('blob cat', cat(path, '--index', index[path], *part)), ('rapidgzip', ranges('--import-index', export)), start,
        ], 'under 0.012 s, at most 0.17 of rapidgzip', runs=max(15, options.runs))
        measure_reads(kind, path, index[path], size, folder)


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    main(folder)
