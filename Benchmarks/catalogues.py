#!/usr/bin/env python3
"""Measures listing other programs' catalogues with `blob`, looking up an asset, and how long a writer waits meanwhile.

usage: Benchmarks/catalogues.py BLOB [--rows N] [--runs N] [--only WORD]

Uses copies of the databases of digiKam and Shotwell in the test fixtures, filled with this number of rows. The writer
is another process, which commits repeatedly without waiting for the disk; its longest commit is measured alone and
while the catalogue is listed. The goals are 2 s and 50 MiB for 100,000 rows, and 50 ms for a commit.
"""
import argparse, os, shutil, sqlite3, statistics, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--rows', type=int, default=100_000, help='number of photos (default 100,000)')
parser.add_argument('--runs', type=int, default=5, help='counted runs (default 5)')
parser.add_argument('--only', default='', help='only the catalogues with this word in their names')
options = parser.parse_args()
blob = os.path.abspath(options.blob)
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../Tests/AssetLibrarySourceTests/Fixtures/Catalogues')

NUMBERS = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)'
ROWS = {
    'digikam4.db': [
        'DELETE FROM Images', 'DELETE FROM ImageInformation',
        f"""{NUMBERS} INSERT INTO Images (id, album, name, status, category, fileSize)
            SELECT x, 1 + x % 2, printf('IMG_%06d.JPG', x), 1, 1, 3942 FROM n""",
        f"""{NUMBERS} INSERT INTO ImageInformation (imageid, creationDate, orientation, width, height, format)
            SELECT x, '2024-05-01T12:30:59.000', 1, 96, 64, 'JPG' FROM n"""],
    'photo.db': [
        'DELETE FROM PhotoTable', 'DELETE FROM VideoTable',
        f"""{NUMBERS} INSERT INTO PhotoTable (id, filename, width, height, filesize, exposure_time, orientation,
            original_orientation, event_id, transformations)
            SELECT x, printf('/photos/IMG_%06d.JPG', x), 96, 64, 3942, 1720605600, 1, 1, 1,
            CASE WHEN x % 10 = 0 THEN '[crop]
left=20
top=4
bottom=60
right=76
' END FROM n"""]}
# The asset to look up, and the change that the writer commits.
ASSETS = {'digikam4.db': (str(options.rows // 2), 'UPDATE Images SET manualOrder = {} WHERE id = 1'),
          'photo.db': (f'thumb{options.rows // 2:016x}', 'UPDATE PhotoTable SET rating = {} WHERE id = 1')}
WRITER = '''
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute('PRAGMA synchronous = OFF')
waits, end = [], time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    start = time.perf_counter()
    connection.execute(sys.argv[2].format(len(waits) % 5))
    waits.append(time.perf_counter() - start)
    time.sleep(0.001)
print(len(waits), max(waits))
'''


def measured(*argv):
    """Returns the wall seconds, the peak memory in MiB and the number of lines of a command."""
    start = time.perf_counter()
    process = subprocess.Popen([blob, *argv], stdout=subprocess.PIPE)
    lines = sum(1 for _ in process.stdout)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, argv
    return time.perf_counter() - start, usage.ru_maxrss / 1024, lines


def report(title, results):
    seconds, memory = (statistics.median(column) for column in list(zip(*results))[:2])
    print(f'{title:<42} {seconds:8.3f} s {memory:8.1f} MiB {results[0][2]:>8} lines')


def longest_wait(path, statement, seconds=6):
    """Returns the number of commits and the longest commit in milliseconds, alone and while the catalogue is listed."""
    for title, lists in [('alone', False), ('while it is listed', True)]:
        writer = subprocess.Popen([sys.executable, '-c', WRITER, path, statement, str(seconds)], stdout=subprocess.PIPE)
        while lists and writer.poll() is None:
            subprocess.run([blob, 'library', 'ls', '--library', path], stdout=subprocess.DEVNULL, check=True)
        count, worst = writer.communicate()[0].split()
        print(f'{"longest commit of a writer, " + title:<42} {float(worst) * 1000:8.1f} ms of {int(count)} commits')


with tempfile.TemporaryDirectory() as folder:
    for name, statements in ROWS.items():
        if options.only not in name:
            continue
        path = shutil.copy(os.path.join(FIXTURES, name), folder)
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement, [options.rows] if '?' in statement else [])
        connection.close()
        asset, change = ASSETS[name]
        url = f'assets-library://asset/asset.JPG?id={asset}'
        print(f'{name} of {options.rows} photos')
        report('blob schemes (start-up)', [measured('schemes') for _ in range(options.runs)])
        for flag in ([], ['-l'], ['--json']):
            argv = ['library', 'ls', *flag, '--library', path]
            report('blob ' + ' '.join(argv[:-2]), [measured(*argv) for _ in range(options.runs)])
        print(f'{"look-up of one asset":<42}', end='')
        start = time.perf_counter()
        found = subprocess.run([blob, 'info', url, '--library', path], capture_output=True, text=True)
        # The catalogue lists the asset, but its file does not exist.
        assert found.returncode == 66 and 'IMG_' in found.stderr, found.stderr
        print(f' {time.perf_counter() - start:8.3f} s')
        longest_wait(path, change)
