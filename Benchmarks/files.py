#!/usr/bin/env python3
"""Compares `blob` on plain files with common tools, in turn in one run.

usage: Benchmarks/files.py BLOB [--size GIB] [--runs N] [--folder DIR]

Prints the median of each side and the median of the ratios of neighbouring runs (below 1: blob is faster), so that
drifts in the machine's speed cancel out. The file is read from the page cache. The peak memory of a process is at least
that of this script, which starts it: a floor of some 18 MiB.
"""
import argparse, os, statistics, subprocess, sys, tempfile, threading, time

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--size', type=float, default=4, help='GiB of the large file (default 4)')
parser.add_argument('--runs', type=int, default=7, help='counted runs of each command (default 7)')
parser.add_argument('--folder', default=None, help='folder for the file (default: the folder for temporary files)')
options = parser.parse_args()
blob = os.path.abspath(options.blob)


def run(argv, into_pipe):
    """Returns the wall seconds, the CPU seconds of the process, and its peak memory in MiB."""
    ends = os.pipe() if into_pipe else None
    out = ends[1] if ends else os.open(os.devnull, os.O_WRONLY)
    reader = None
    start = time.perf_counter()
    if ends:
        # The reader is a separate process that reads as `cat` does and does nothing else.
        reader = subprocess.Popen([sys.executable, '-c', READER], stdin=ends[0], stdout=subprocess.PIPE)
        reader.stdout.read(1)  # Ready now: its start-up does not count.
        os.close(ends[0])
        start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
    os.close(out)
    _, status, usage = os.wait4(pid, 0)
    if reader:
        reader.wait()
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f'{argv} ended with status {status}')
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


READER = '''
import os
buffer = bytearray(131072)
os.write(1, b"r")
while os.readv(0, [buffer]): pass
'''


def compare(title, ours, theirs, goal, into_pipe=False, runs=None):
    pairs = []
    for counted in range(-1, runs or options.runs):
        pair = (run(ours, into_pipe), run(theirs, into_pipe))
        if counted >= 0:
            pairs.append(pair)
    median = lambda values: statistics.median(values)
    wall = median([a[0] / b[0] for a, b in pairs])
    cpu = median([a[1] / max(b[1], 1e-4) for a, b in pairs])
    print(f'{title:<34} {median([a[0] for a, _ in pairs]):>9.4f} {median([b[0] for _, b in pairs]):>9.4f} '
          f'{wall:>7.2f} {cpu:>7.2f} {max(a[2] for a, _ in pairs):>7.1f}   {goal}', flush=True)


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    large, middle = os.path.join(folder, 'large'), os.path.join(folder, 'middle')
    piece = os.urandom(1 << 20)
    for path, count in ((large, int(options.size * 1024)), (middle, min(1024, int(options.size * 1024)))):
        with open(path, 'wb') as file:
            for number in range(count):
                file.write(number.to_bytes(8, 'little') + piece[8:])
    end = os.path.getsize(large) - 65536
    print(f'{options.size} GiB file, {options.runs} runs of each; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores')
    print(f'{"":<34} {"blob s":>9} {"peer s":>9} {"wall":>7} {"cpu":>7} {"MiB":>7}   goal')
    compare('cat to /dev/null : cat', [blob, 'cat', large], ['cat', large], 'wall <= 1.05, < 24 MiB')
    compare('cat into a pipe : cat', [blob, 'cat', large], ['cat', large], 'wall <= 0.33', into_pipe=True)
    compare('sum : openssl dgst -sha256', [blob, 'sum', middle], ['openssl', 'dgst', '-sha256', middle], 'wall <= 1.05')
    few = max(20, options.runs)
    compare('64 KiB near the end : dd', [blob, 'cat', '--offset', str(end), '--length', '65536', large],
            ['dd', f'if={large}', 'bs=65536', f'skip={end // 65536}', 'count=1', 'status=none'], 'blob < 0.010 s', runs=few)
    compare('schemes (start-up) : true', [blob, 'schemes'], ['true'], 'blob about 0.004 s', runs=few)
