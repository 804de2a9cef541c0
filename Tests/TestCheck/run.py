#!/usr/bin/env python3
"""Compares the verdicts of `blob test` with those of the programs of the formats, over the files of a folder.

usage: Tests/TestCheck/run.py BLOB FOLDER [--known FILE]

Each file is tested by `blob test` and by each program that knows its format: gzip -t, bzip2 -t, xz -t, lzip -t, zstd -t,
lz4 -t, unzip -t, 7z t, bsdtar -tf and bsdtar -xOf. Prints one line a file: the path, the status and the result of
`blob test`, and the verdict of each program; and last the number of files on which all agree. A file on which they do
not is marked with '!', and is an error unless FILE has a line `PATH<tab>REASON` for it.
"""
import argparse, os, re, subprocess, sys

LIMIT = 20  # Seconds for one file.

# The beginning of a file, where it is, and the programs that test such files.
FORMATS = [
    (0, b'\x1f\x8b', 'gzip'), (0, b'BZh', 'bzip2'), (0, b'\xfd7zXZ\0', 'xz'), (0, b'LZIP', 'lzip'),
    (0, b'\x28\xb5\x2f\xfd', 'zstd'), (0, b'\x04\x22\x4d\x18', 'lz4'), (0, b'\x02\x21\x4c\x18', 'lz4'),
    (0, b'PK', 'zip'), (0, b"7z\xbc\xaf'\x1c", '7z'), (257, b'ustar', 'tar'), (0, b'0707', 'cpio'),
    (0, b'!<arch>\n', 'ar'), (0, b'Rar!', 'rar'), (0, b'MSCF', 'cab'), (0, b'xar!', 'xar'),
]
SUFFIXES = {'.tar': 'tar', '.zip': 'zip', '.jar': 'zip', '.7z': '7z', '.gz': 'gzip', '.tgz': 'gzip', '.bz2': 'bzip2',
            '.xz': 'xz', '.cpio': 'cpio', '.a': 'ar', '.ar': 'ar', '.lzma': 'xz', '.z': 'gzip'}
PROGRAMS = {
    'gzip': ['gzip', '-tq', '--'], 'bzip2': ['bzip2', '-tq', '--'], 'xz': ['xz', '-tq', '--'],
    'lzip': ['lzip', '-tq', '--'], 'zstd': ['zstd', '-tq', '--'], 'lz4': ['lz4', '-tq', '--'],
    'unzip': ['unzip', '-tqq', '-P', 'x'], '7z': ['7z', 't', '-y', '-px', '-bso0', '-bsp0', '--'],
    'bsdtar -t': ['bsdtar', '-tf'], 'bsdtar -x': ['bsdtar', '-xOf'],
}
BY_FORMAT = {
    'gzip': ['gzip'], 'bzip2': ['bzip2'], 'xz': ['xz'], 'lzip': ['lzip'], 'zstd': ['zstd'], 'lz4': ['lz4'],
    'zip': ['unzip', '7z', 'bsdtar -t', 'bsdtar -x'], '7z': ['7z', 'bsdtar -t', 'bsdtar -x'],
    'tar': ['bsdtar -t', 'bsdtar -x'], 'cpio': ['bsdtar -t', 'bsdtar -x'], 'ar': ['bsdtar -t', 'bsdtar -x'],
    'rar': ['7z', 'bsdtar -t', 'bsdtar -x'], 'cab': ['7z', 'bsdtar -t', 'bsdtar -x'],
    'xar': ['7z', 'bsdtar -t', 'bsdtar -x'],
}


def format_of(path):
    with open(path, 'rb') as file:
        beginning = file.read(1024)
    for offset, signature, name in FORMATS:
        if beginning[offset:].startswith(signature):
            return name
    return SUFFIXES.get(os.path.splitext(path)[1].lower())


def run(command, path, output=subprocess.DEVNULL):
    try:
        done = subprocess.run(
            command + [path], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, b'', b''
    return done.returncode, done.stdout or b'', done.stderr


def verdict(name, status):
    """Returns 'ok', 'bad' or 'hangs'; unzip's 1 is a warning."""
    if status is None:
        return 'hangs'
    if name == 'unzip' and status == 1:
        return 'ok'
    return 'ok' if status == 0 else 'bad'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('blob')
    parser.add_argument('folder')
    parser.add_argument('--known')
    options = parser.parse_args()
    known = {}
    if options.known:
        with open(options.known, encoding='utf-8') as file:
            known = dict(line.rstrip('\n').split('\t', 1) for line in file if '\t' in line)
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(options.folder) for name in names)
    counts = {'agree': 0, 'differ': 0, 'alone': 0, 'new': 0}
    for path in paths:
        name = os.path.relpath(path, options.folder)
        status, output, errors = run([options.blob, 'test', '--'], path, subprocess.PIPE)
        lines = output.decode(errors='replace').splitlines()
        result = lines[-1].removeprefix(path + ': ') if lines else ''
        if status is not None and (status < 0 or status == 70):
            print(f'! {name}: blob test ended with {status}: {errors.decode(errors="replace").strip()}')
            counts['new'] += 1
            continue
        own = verdict('blob', status)
        kind = format_of(path)
        peers = {peer: verdict(peer, run(PROGRAMS[peer], path)[0]) for peer in BY_FORMAT.get(kind, [])}
        agree = all(value == own for value in peers.values())
        counts['alone' if not peers else 'agree' if agree else 'differ'] += 1
        reason = ''
        if not agree:
            reason = known.get(name, '')
            counts['new'] += not reason
        message = re.sub(r'^blob: ', '', errors.decode(errors='replace').splitlines()[0])[:160] if errors else ''
        print(f'{" " if agree else "!"} {name}\t{status}\t{result}\t'
              + ', '.join(f'{peer} {value}' for peer, value in peers.items())
              + (f'\t{message}' if message and not agree else '') + (f'\t({reason})' if reason else ''))
    print(f'{counts["agree"]} agree, {counts["differ"]} differ, {counts["alone"]} have no peer; {counts["new"]} unexplained')
    return counts['new'] > 0 if options.known else 0


sys.exit(main())
