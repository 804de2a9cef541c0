#!/usr/bin/env python3
"""Measures `blob compose zip` against `cat` of the same files into the same socket, and against programs that write a
zip of stored entries to a stream.

usage: zip.py BLOB [--files N] [--bytes N] [--runs N]

The files are in the page cache. The reader of the socket only counts. Runs alternate; prints the median of each, its
ratio to that of cat, and the peak of memory.
"""
import argparse, os, shutil, socket, statistics, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--files', type=int, default=1000)
parser.add_argument('--bytes', type=int, default=1 << 20, help='the length of each file')
parser.add_argument('--runs', type=int, default=5)
parser.add_argument('--folder', default='/var/tmp')
options = parser.parse_args()
folder = tempfile.mkdtemp(dir=options.folder)
os.environ['XDG_CACHE_HOME'] = folder + '/cache'
files = folder + '/files'
blob = os.path.abspath(options.blob)

PYTHON = '''
import sys, zipfile, os
with zipfile.ZipFile(sys.stdout.buffer, 'w') as archive:
    for name in sorted(os.listdir('.')): archive.write(name)
'''
commands = {
    'cat': 'cat *',
    'blob compose zip': f'exec {blob} compose zip --index none ./',
    'blob, checksums stored': f'exec {blob} compose zip --index {folder}/index ./',
    'zip -0': 'exec zip -q -0 -r - .',
    'bsdtar': 'exec bsdtar --format zip --options zip:compression=store -cf - .',
    'python zipfile': f'exec {sys.executable} -c "$PYTHON"',
}
os.environ['PYTHON'] = PYTHON
commands = {name: command for name, command in commands.items()
            if shutil.which(command.split()[-1] if name == 'cat' else name.split()[0]) or 'blob' in name or name == 'cat'}


def run(command):
    ours, theirs = socket.socketpair()
    start = time.perf_counter()
    child = subprocess.Popen(['sh', '-c', command], cwd=files, stdout=theirs)
    theirs.close()
    buffer, count = bytearray(1 << 20), 0
    while received := ours.recv_into(buffer):
        count += received
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    ours.close()
    assert status == 0, command
    return seconds, count, usage.ru_maxrss


try:
    os.makedirs(files)
    noise = os.urandom(options.bytes)
    for number in range(options.files):
        with open(f'{files}/{number:06}', 'wb') as file:
            file.write(number.to_bytes(8, 'big') + noise[8:])
    results = {name: [] for name in commands}
    for name, command in commands.items():
        run(command)
    for _ in range(options.runs):
        for name, command in commands.items():
            results[name].append(run(command))
    cat = statistics.median(seconds for seconds, _, _ in results['cat'])
    print(f'{options.files} files of {options.bytes} bytes, {options.runs} runs')
    for name, runs in results.items():
        seconds = statistics.median(seconds for seconds, _, _ in runs)
        print(f'{name:24} {seconds:8.3f} s  {runs[0][1] / seconds / 1e6:8.0f} MB/s  {cat / seconds:5.2f} of the rate of '
              f'cat, {runs[0][2] / 1024:6.1f} MiB')
finally:
    shutil.rmtree(folder, ignore_errors=True)
