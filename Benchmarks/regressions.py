#!/usr/bin/env python3
"""Compares this checkout with another commit, task by task in one run, and fails if a task has become slower.

usage: Benchmarks/regressions.py COMMIT [--only WORD] [--pairs N] [--folder DIR]

Builds COMMIT beside this checkout, in .build-base. A task in a single thread is measured by its number of instructions
(valgrind --tool=callgrind), which is the same in every run, and may increase by a factor of 1.03. Any other task is
measured by its CPU seconds in pairs of alternating runs: the median of the ratios may be 1.05, and a higher median is
significant only if at least four in five of the pairs are above 1.
"""
import argparse, os, random, re, shutil, statistics, struct, subprocess, sys, tempfile, time, zlib
from measuring import Failure, mixed_pieces, run, tool, write_mixed

INSTRUCTIONS, SECONDS = 1.03, 1.05

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('commit')
parser.add_argument('--only', default='', help='only the tasks with this word in their names')
parser.add_argument('--pairs', type=int, default=15, help='pairs of runs of a task (default 15)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
options = parser.parse_args()
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Discards request bodies, and responds to GET with the named file or a range of it.
SERVER = '''
import os, re, socket, sys, threading
def serve(connection):
    buffer = memoryview(bytearray(1 << 20))
    while True:
        head = b''
        while b'\\r\\n\\r\\n' not in head:
            data = connection.recv(65536)
            if not data: return connection.close()
            head += data
        head, _, body = head.partition(b'\\r\\n\\r\\n')
        if head.startswith((b'GET', b'HEAD')):
            with open(sys.argv[1] + head.split()[1].decode(), 'rb') as file:
                size = os.fstat(file.fileno()).st_size
                range = re.search(rb'(?i)\\r\\nrange: *bytes=(\\d+)-(\\d*)', head)
                first = int(range[1]) if range else 0
                last = min(int(range[2] or size - 1), size - 1) if range else size - 1
                status = b'206 Partial Content\\r\\nContent-Range: bytes %d-%d/%d' % (first, last, size) if range else b'200 OK'
                connection.sendall(b'HTTP/1.1 %s\\r\\nETag: "%d"\\r\\nAccept-Ranges: bytes\\r\\nContent-Length: %d\\r\\n\\r\\n'
                                   % (status, size, last + 1 - first))
                if head.startswith(b'GET'): connection.sendfile(file, first, last + 1 - first)
            continue
        if b'100-continue' in head: connection.sendall(b'HTTP/1.1 100 Continue\\r\\n\\r\\n')
        length = re.search(rb'(?i)content-length: *(\\d+)', head)
        if length:
            left = int(length[1]) - len(body)
            while left > 0:
                count = connection.recv_into(buffer, min(left, len(buffer)))
                if not count: return connection.close()
                left -= count
        else:
            tail = body[-5:]
            while tail != b'0\\r\\n\\r\\n':
                count = connection.recv_into(buffer)
                if not count: return connection.close()
                tail = (tail + bytes(buffer[max(0, count - 5):count]))[-5:]
        connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')
def guarded(connection):
    try: serve(connection)
    except ConnectionError: connection.close()
listener = socket.create_server(('127.0.0.1', 0), backlog=256)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=guarded, args=(listener.accept()[0],), daemon=True).start()
'''


class Build:
    """The programs of one commit, stripped, because valgrind cannot read Swift's debug information."""

    def __init__(self, folder):
        programs = os.path.join(folder, '.build-benchmarks/programs')
        os.makedirs(programs, exist_ok=True)
        for path in ('.build/release/blob', '.build/release/blob-archive-helper',
                     '.build-benchmarks/release/stream-benchmarks'):
            target = os.path.join(programs, os.path.basename(path))
            subprocess.run(['strip', '-o', target, os.path.join(folder, path)], check=True)
        self.blob, self.streams = os.path.join(programs, 'blob'), os.path.join(programs, 'stream-benchmarks')


def build(folder):
    """Builds the programs in a checkout, in the build folders that other commands also use."""
    log = open(os.path.join(folder, '.build-benchmarks.log'), 'w')
    for command in (['make', 'release'], ['swift', 'build', '-c', 'release', '--package-path', 'Benchmarks',
                                          '--scratch-path', '.build-benchmarks']):
        if subprocess.run(command, cwd=folder, stdout=log, stderr=log).returncode != 0:
            sys.exit(f'{" ".join(command)} failed in {folder}: see {log.name}')
    return Build(folder)


def checkout(commit):
    """Unpacks the commit beside this checkout, with this checkout's stream benchmarks; returns its folder."""
    name = subprocess.run(['git', '-C', root, 'rev-parse', '--verify', f'{commit}^{{commit}}'], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()
    folder = os.path.join(root, '.build-base', name)
    if not os.path.exists(folder):
        os.makedirs(folder)
        archive = subprocess.Popen(['git', '-C', root, 'archive', name], stdout=subprocess.PIPE)
        subprocess.run(['tar', '-x', '-C', folder], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            sys.exit(f'git archive {name} failed')
    shutil.rmtree(os.path.join(folder, 'Benchmarks'))
    shutil.copytree(os.path.join(root, 'Benchmarks'), os.path.join(folder, 'Benchmarks'))
    return folder


def instructions(argv):
    with tempfile.NamedTemporaryFile('r') as log:
        command = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', f'--log-file={log.name}', *argv]
        status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        found = re.search(r'Collected : (\d+)', log.read())
    if status != 0 or not found:
        raise Failure(f'{" ".join(command)}: status {status}')
    return int(found[1])


failures, measured = [], []


def judge(name, ratio, detail, is_slower):
    measured.append(name)
    if is_slower:
        failures.append(name)
    print(f'  {name:<44} {ratio:>6.3f}  {detail}{"   SLOWER" if is_slower else ""}', flush=True)


def count(name, command):
    """Compares the instructions of a task. `command` receives a build, and returns its arguments."""
    if options.only not in name:
        return
    ours, theirs = instructions(command(ours_built)), instructions(command(theirs_built))
    if ours > theirs * INSTRUCTIONS:  # Measured again, because a page fault or a timer may have interfered.
        ours = min(ours, instructions(command(ours_built)))
    judge(name, ours / theirs, f'{ours / 1e6:,.1f} million instructions', ours > theirs * INSTRUCTIONS)


def time_pairs(name, command):
    """Compares the CPU seconds of a task, in pairs of runs."""
    if options.only not in name:
        return
    ratios, seconds = [], []
    for build in (ours_built, theirs_built):
        run(command(build))
    for number in range(options.pairs):
        builds = [ours_built, theirs_built]
        cpu = {build: run(command(build))[1] for build in (builds if number % 2 else builds[::-1])}
        ratios.append(cpu[ours_built] / max(cpu[theirs_built], 1e-4))
        seconds.append(cpu[ours_built])
    ratio, worse = statistics.median(ratios), sum(value > 1 for value in ratios)
    judge(name, ratio, f'{statistics.median(seconds):.3f} s of CPU, {worse} of {len(ratios)} pairs above 1',
          ratio > SECONDS and worse >= 0.8 * len(ratios))


def write_files(folder, number, byte_count):
    """Writes text files, each from a different offset of the same pieces."""
    os.makedirs(folder)
    pieces = list(mixed_pieces(4))
    order = random.Random(5)
    for index in range(number):
        piece, first = order.choice(pieces), order.randrange((1 << 20) - byte_count)
        with open(os.path.join(folder, f'{index:05}'), 'wb') as file:
            file.write(piece[first:first + byte_count])


def write_bgzf(source, path):
    """Writes a gzip in blocks as bgzip does (SAM specification, 4.1)."""
    with open(source, 'rb') as file, open(path, 'wb') as output:
        while True:
            piece = file.read(0xFF00)
            deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
            data = deflater.compress(piece) + deflater.flush()
            output.write(struct.pack('<4BI2BH2BHH', 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(data) + 25) + data
                         + struct.pack('<II', zlib.crc32(piece), len(piece)))
            if not piece:
                return


def quiet(*argv, **arguments):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **arguments)


def prepare(folder):
    """Creates the data for the tasks."""
    path = lambda name: os.path.join(folder, name)
    write_mixed(path('data'), 64)
    quiet('gzip', '-6', '-k', path('data'))
    write_bgzf(path('data'), path('blocks.gz'))
    write_files(path('few'), 500, 60 << 10)
    write_files(path('small'), 2000, 2 << 10)
    quiet('tar', '-C', folder, '-czf', path('few.tgz'), 'few')
    quiet('zip', '-qr', path('few.zip'), 'few', cwd=folder)
    quiet('zip', '-qr', path('small.zip'), 'small', cwd=folder)
    quiet('bsdtar', '-C', folder, '-cf', path('few.7z'), '--format', '7zip', 'few')
    quiet('xz', '-k', '-1', '-T1', '--block-size=4MiB', path('data'))
    order = random.Random(14)
    for name, number in ('ranges', 200), ('many-ranges', 1000):
        with open(path(name), 'w') as file:
            file.writelines(f'{order.randrange((64 << 20) - 4096)} 4096\n' for _ in range(number))
    with open(path('members'), 'w') as file:
        file.writelines(f'{folder}/few.zip#few/{order.randrange(500):05}\n' for _ in range(100))
    for build, name in (ours_built, 'ours'), (theirs_built, 'theirs'):
        for archive in 'gzip+' + path('data.gz'), path('few.tgz'):
            quiet(build.blob, 'index', 'build', archive, '--output', path(f'{name}-{os.path.basename(archive)}.index'))


def measure(folder, url):
    path = lambda name: os.path.join(folder, name)
    index = lambda build, name: path(f'{"ours" if build is ours_built else "theirs"}-{name}.index')
    once = lambda *names: lambda build: [build.streams, '--once', *names]
    blob = lambda *arguments: lambda build: [build.blob, *arguments]
    plain = ('--index', 'none')

    print('instructions, divided by those of the base:', flush=True)
    reading, small = 'Reading a file, 64 KiB a read', 'Reading a file, 1 KiB a read'
    count('start-up', blob('schemes'))
    count('stream, reads of 64 KiB', once(reading, 'BlobInputStream'))
    count('stream, reads of 1 KiB', once(small, 'BlobInputStream'))
    count('asynchronous stream, reads of 64 KiB', once(reading, 'BlobInputStream, asynchronous'))
    count('asynchronous stream, reads of 1 KiB', once(small, 'BlobInputStream, asynchronous'))
    count('stream with a delegate', once('Reading a file on a run loop, 64 KiB an event', 'BlobInputStream with a delegate'))
    count('cat of a file', blob('cat', path('data')))
    count('ranges of a file', blob('cat', '--ranges', path('many-ranges'), path('data')))
    count('one member of a zip', blob('cat', *plain, path('few.zip#few/00250')))
    count('100 members of a zip', blob('cat', *plain, '--from-file', path('members')))
    count('list of a zip', blob('ls', *plain, path('small.zip')))
    count('list of a 7z', blob('ls', *plain, path('few.7z')))
    count('one member of a tar.gz by its table',
          lambda build: [build.blob, 'cat', '--index', index(build, 'few.tgz'), path('few.tgz#few/00250')])
    count('form of a file', blob('form', '-F', 'a=1', '-F', f'f=@{path("data")}'))

    print('CPU seconds, divided by those of the base, medians of pairs:', flush=True)
    time_pairs('chunks', once(reading, 'chunks'))
    time_pairs('bound pair', once('From thread to thread, 1 KiB a write and a read', 'BoundStreamPair'))
    time_pairs('gzip', blob('cat', *plain, f'gzip+{path("data.gz")}'))
    time_pairs('BGZF', blob('cat', *plain, f'gzip+{path("blocks.gz")}'))
    time_pairs('xz of blocks', blob('cat', *plain, f'xz+{path("data.xz")}'))
    time_pairs('ranges of a gzip by its index', lambda build: [
        build.blob, 'cat', '--index', index(build, 'data.gz'), '--ranges', path('ranges'), f'gzip+{path("data.gz")}'])
    time_pairs('one member of a tar.gz, cold', blob('cat', *plain, path('few.tgz#few/00490')))
    time_pairs('sum of a zip', blob('sum', *plain, path('few.zip#**')))
    time_pairs('sum of a 7z', blob('sum', *plain, path('few.7z#**')))
    time_pairs('sum of 2,000 files', lambda build: ['/bin/sh', '-c', f'exec {build.blob} sum {path("small")}/*'])
    time_pairs('extraction of a zip', lambda build: [
        build.blob, 'extract', '--overwrite', '-C', path('out'), path('small.zip')])
    time_pairs('upload', blob('upload', '--progress', 'never', path('data'), f'{url}x'))
    time_pairs('upload of a form', blob('upload', '--progress', 'never', '-F', f'f=@{path("data")}', f'{url}x'))
    time_pairs('upload of 2,000 files', blob('upload', '--progress', 'never', path('small'), url))
    time_pairs('cat of a URL', blob('cat', f'{url}data'))
    time_pairs('ranges of a URL', blob('cat', '--ranges', path('ranges'), f'{url}data'))


missing = [name for name in ('valgrind', 'bsdtar', 'zip', 'xz', 'gzip') if not tool(name)]
if missing:
    sys.exit(f'This needs {", ".join(missing)}.')
began = time.monotonic()
theirs_built, ours_built = build(checkout(options.commit)), build(root)
print(f'built in {time.monotonic() - began:.0f} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores', flush=True)
began = time.monotonic()
with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    os.environ.update(TMPDIR=folder, XDG_CACHE_HOME=os.path.join(folder, 'cache'), BENCHMARK_MEBIBYTES='256')
    prepare(folder)
    server = subprocess.Popen([sys.executable, '-c', SERVER, folder], stdout=subprocess.PIPE)
    try:
        measure(folder, f'http://127.0.0.1:{int(server.stdout.readline())}/')
    finally:
        server.kill()
        server.wait()
print(f'{len(measured)} tasks in {time.monotonic() - began:.0f} s; slower: {", ".join(failures) or "none"}')
sys.exit(1 if failures or not measured else 0)
