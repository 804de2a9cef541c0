#!/usr/bin/env python3
"""Changes an asset, its file or the catalogue while `blob cat` reads the asset slowly, and checks what comes of it.

usage: asset_changes.py BLOB [--runs N] [--bytes N] [--folder F] [--seed N]

For each change and each of two offsets, 0 and the middle: N runs, with the change at a random place of the reading. The
reader waits at that place, because nobody takes its bytes. Every byte is compared; those before an error must be a true
prefix. The catalogue is changed by this process, as by any other one that uses the library.
"""
import argparse, collections, os, random, shutil, sqlite3, subprocess, sys, tempfile, threading, time

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--runs', type=int, default=100, help='runs of each change and offset (default 100)')
parser.add_argument('--bytes', type=int, default=200_000_000, help='length of the asset (default 200 MB)')
parser.add_argument('--folder', help='where the library is made (default: that of temporary files)')
parser.add_argument('--seed', type=int, default=random.randrange(1 << 32), help='of the random places')
options = parser.parse_args()
random.seed(options.seed)
print(f'seed {options.seed}')

LIMIT = 60  # Seconds after which a run hangs.
BLOCK = 256 << 10  # The bytes that a reader verifies at once.
folder = tempfile.mkdtemp(dir=options.folder)
library = f'{folder}/library'
catalogue = f'{library}/catalog.sqlite'
# Different in each block.
pattern = random.randbytes(1 << 20)
content = memoryview(bytearray().join(
    i.to_bytes(8, 'big') + pattern[8:] for i in range(-(-options.bytes // len(pattern))))[:options.bytes])


def blob(*arguments):
    return subprocess.run([options.blob, *arguments, '--library', library], check=True, capture_output=True, text=True)


def sql(statement, *arguments):
    connection = sqlite3.connect(catalogue, timeout=10)
    with connection:
        rows = connection.execute(statement, arguments).fetchall()
    connection.close()
    return rows


def stored_path():
    return f"{library}/{sql('SELECT path FROM original')[0][0]}"


def flip():
    """Changes a byte of each block in place, and puts the time back. Done twice, it changes nothing."""
    path = stored_path()
    status = os.stat(path)
    descriptor = os.open(path, os.O_RDWR)
    for start in range(0, options.bytes, BLOCK):
        offset = min(start + 1000, options.bytes - 1)
        os.pwrite(descriptor, bytes([os.pread(descriptor, 1, offset)[0] ^ 1]), offset)
    os.close(descriptor)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def move():
    old = stored_path()
    name = f'originals/{random.randrange(1 << 60)}.bin'
    os.rename(old, f'{library}/{name}')
    sql('UPDATE original SET path = ?', name)


def edit():
    # As an adjustment does; the bytes are no picture, which could be rendered with one.
    sql('UPDATE asset SET generation = generation + 1')


def replace():
    """Puts a copy into the place of the catalogue, which has no log then."""
    copy = f'{folder}/copy.sqlite'
    sql('PRAGMA wal_checkpoint(TRUNCATE)')
    connection = sqlite3.connect(catalogue)
    connection.execute(f"VACUUM INTO '{copy}'")
    connection.close()
    for suffix in ('-wal', '-shm'):
        if os.path.exists(catalogue + suffix):
            os.remove(catalogue + suffix)
    os.rename(copy, catalogue)


def remove():
    blob('library', 'remove', url)


def add():
    path = f'{folder}/file.bin'
    with open(path, 'wb') as file:
        file.write(content)
    return blob('library', 'import', path).stdout.strip()


# The change; what makes up for it; the exit statuses that are right. 65: other bytes; 75: changed; 0: all bytes.
CHANGES = {
    'moved': (move, None, {0}),
    'rewritten': (flip, flip, {65, 75}),
    'edited': (edit, None, {75}),
    'deleted': (remove, add, {0}),
    'replaced catalogue': (replace, None, {0}),
}


def run(change, start):
    """Reads the asset from an offset, with a change on the way; returns the outcome, and an error if it is wrong."""
    reader = subprocess.Popen([options.blob, 'cat', url, '--offset', str(start), '--library', library],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    timer = threading.Timer(LIMIT, reader.kill)
    timer.start()
    # Blocks that the pipe holds already are not touched by the change.
    place = random.randrange(start, max(start + 1, options.bytes - 8 * BLOCK))
    offset, is_changed, wrong = start, False, None
    while data := reader.stdout.read1(random.choice((4096, 1 << 16, 1 << 20))):
        if data != content[offset:offset + len(data)]:
            wrong = f'wrong bytes from {offset}'
            break
        offset += len(data)
        if not is_changed and offset >= place:
            change()
            is_changed = True
    reader.stdout.close()
    error = reader.stderr.read().decode()
    status = reader.wait()
    timer.cancel()
    reader.stderr.close()
    if status == -9:
        wrong = wrong or f'hung at byte {offset}'
    if status == 0 and offset != options.bytes:
        wrong = wrong or f'success at byte {offset}'
    if not is_changed:
        wrong = wrong or f'over at byte {offset}, before the change at {place}'
    return status, wrong, error


failures = 0
begin = time.monotonic()
try:
    blob('library', 'create')
    url = add()
    for name, (change, undo, right) in CHANGES.items():
        for start in (0, options.bytes // 2):
            statuses = collections.Counter()
            for _ in range(options.runs):
                status, wrong, error = run(change, start)
                statuses[status] += 1
                if wrong or status not in right:
                    failures += 1
                    print(f'  {name} from {start}: status {status}: {wrong or error.strip()}')
                if undo:
                    url = undo() or url
            outcome = ', '.join(f'{count} x {status}' for status, count in sorted(statuses.items()))
            print(f'{name}, from {start}: {outcome}', flush=True)
finally:
    shutil.rmtree(folder)
print(f'{failures} wrong outcomes in {time.monotonic() - begin:.0f} s')
sys.exit(1 if failures else 0)
