#!/usr/bin/env python3
"""Measures `blob serve`: a large file beside nginx, and random reads of a member of a tar.gz, by one client and many.

usage: Benchmarks/serve.py BLOB [--size MIB] [--member MIB] [--reads N] [--clients N] [--runs N] [--folder DIR]

Generates its data, the same in every run: a file, and a tar.gz of one large member, mostly text, and 1,000 small ones,
with an index. Prints medians, the medians of the ratios of neighbouring runs, and the CPU seconds and peak memory of
the servers. The exit status is 1 if a range has wrong bytes.
"""
import argparse, contextlib, glob, math, mmap, os, random, select, shutil, socket, statistics, subprocess, sys, tempfile
import time

from measuring import SUBJECTS, TABLES, banner, run, tool, write_mixed

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--size', type=int, default=1024, help='MiB of the file (default 1024)')
parser.add_argument('--member', type=int, default=256, help='MiB of the large member (default 256)')
parser.add_argument('--reads', type=int, default=1000, help='reads of one client; many clients read ten times as often')
parser.add_argument('--clients', type=int, default=100, help='clients at once (default 100)')
parser.add_argument('--runs', type=int, default=7, help='counted runs of each server (default 7)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
options = parser.parse_args()
blob, curl = os.path.abspath(options.blob), shutil.which('curl')
nginx = shutil.which('nginx', path='/usr/sbin:/usr/bin')
READ, SMALL_COUNT, PATIENCE = 64 << 10, 1000, 60
RATE_GOAL, MEDIAN_GOAL, SCALING_GOAL, MEMORY_GOAL = 0.9, 2, 0.8, 64


def processes(pid):
    """Returns a process and its descendants, each with its fields of /proc/PID/stat from the state on (proc(5))."""
    fields = {}
    for path in glob.glob('/proc/[0-9]*/stat'):
        with contextlib.suppress(OSError), open(path) as file:
            fields[int(path.split('/')[2])] = file.read().rpartition(') ')[2].split()
    found = {pid: fields[pid]}
    while more := {child: values for child, values in fields.items() if child not in found and int(values[1]) in found}:
        found |= more
    return found


def cpu_seconds(pid):
    """Returns the user and system time of a process and its descendants, including ended ones."""
    return sum(int(ticks) for values in processes(pid).values() for ticks in values[11:15]) / os.sysconf('SC_CLK_TCK')


def busy_seconds():
    """Returns the CPU seconds of all processes of the machine (proc(5))."""
    with open('/proc/stat') as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf('SC_CLK_TCK')


def peak_memory(pid):
    """Returns the sum of the peaks of a process and its descendants in MiB."""
    kibibytes = 0
    for process in processes(pid):
        with open(f'/proc/{process}/status') as file:
            kibibytes += next(int(line.split()[1]) for line in file if line.startswith('VmHWM:'))
    return kibibytes / 1024


@contextlib.contextmanager
def serving(path):
    """Yields the process identifier of a server and the URL of the file."""
    process = subprocess.Popen([blob, 'serve', path], stdout=subprocess.PIPE, text=True)
    try:
        yield process.pid, process.stdout.readline().strip() + os.path.basename(path)
    finally:
        process.terminate()
        process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def serving_by_nginx(folder):
    """Yields the process identifier of nginx, and the URLs of the folder without and with sendfile."""
    off, on = free_port(), free_port()
    kinds = ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')
    paths = ' '.join(f'{kind}_temp_path {folder}/{kind};' for kind in kinds)
    with open(f'{folder}/nginx.conf', 'w') as file:
        file.write(f'''daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
            events {{ worker_connections 1024; }}
            http {{ access_log off; {paths}
              server {{ listen 127.0.0.1:{off}; root {folder}; sendfile off; }}
              server {{ listen 127.0.0.1:{on}; root {folder}; sendfile on; }} }}''')
    process = subprocess.Popen([nginx, '-p', folder, '-c', f'{folder}/nginx.conf'])
    try:
        for port in (off, on):
            while process.poll() is None:
                with socket.socket() as attempt:
                    if attempt.connect_ex(('127.0.0.1', port)) == 0:
                        break
                time.sleep(0.05)
        yield process.pid, f'http://127.0.0.1:{off}/', f'http://127.0.0.1:{on}/'
    finally:
        process.terminate()
        process.wait()


def measure_file(folder):
    """Measures curl with each server in turn, and the CPU time of the servers meanwhile."""
    path, title = os.path.join(folder, 'file'), f'{options.size} MiB served to curl'
    with open(path, 'wb') as file:
        piece = random.Random(1).randbytes(1 << 20)
        for number in range(options.size):
            file.write(number.to_bytes(8, 'little') + piece[8:])
    print(f'\n{title}   goal: rate at least {RATE_GOAL} of nginx without sendfile', flush=True)
    with serving(path) as (pid, url), serving_by_nginx(folder) as (nginx_pid, off, on):
        with subprocess.Popen([curl, '-sf', url], stdout=subprocess.PIPE) as transfer:
            if subprocess.run(['cmp', '-', path], stdin=transfer.stdout).returncode != 0:
                sys.exit(f'{url} has other bytes.')
        servers = [('blob serve', pid, url), ('nginx, sendfile off', nginx_pid, f'{off}file'),
                   ('nginx, sendfile on', nginx_pid, f'{on}file')]
        results, others = {name: [] for name, _, _ in servers}, []
        for number in range(options.runs + 1):
            for name, process, source in servers:
                before, busy = cpu_seconds(process), busy_seconds()
                wall, own = run([curl, '-sf', '-o', os.devnull, source])
                cpu = cpu_seconds(process) - before
                if number > 0:  # The first run of each is not counted.
                    results[name].append((wall, cpu))
                    others.append(max(0, busy_seconds() - busy - cpu - own) / wall)
        peaks = [peak_memory(process) for _, process, _ in servers]
    ours, rows = results['blob serve'], []
    for (name, theirs), peak in zip(results.items(), peaks):
        # The clock of /proc/PID/stat ticks in 10 ms, so the mean of the CPU times is more precise than the median.
        wall, cpu = statistics.median(wall for wall, _ in theirs), statistics.mean(cpu for _, cpu in theirs)
        rows.append((name, wall, cpu, peak))
        rate = statistics.median(b[0] / a[0] for a, b in zip(ours, theirs))
        print(f'  {name:<34} {wall:>9.4f} s {cpu:>9.4f} cpu {peak:>7.1f} MiB {options.size / wall:>8.0f} MiB/s'
              + ('' if theirs is ours else f'   ours/this: rate {rate:>5.2f}, cpu {rows[0][2] / max(cpu, 1e-3):>5.2f}'))
    print(f'  other processes used {statistics.mean(others):.2f} cores', flush=True)
    TABLES.append((SUBJECTS[-1], title, rows, {nginx}))
    os.remove(path)


class Client:
    """A connection that is kept open, and receives one range at a time."""

    def __init__(self, url, truth):
        authority, _, path = url.removeprefix('http://').partition('/')
        self.head = f'GET /{path} HTTP/1.1\r\nHost: {authority}\r\n'.encode()
        host, port = authority.split(':')
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.truth, self.buffer = truth, bytearray(READ + 16384)

    def ask(self, offset):
        self.offset, self.filled, self.start = offset, 0, None
        self.asked = time.perf_counter()
        self.socket.sendall(self.head + b'Range: bytes=%d-%d\r\n\r\n' % (offset, offset + READ - 1))

    def receive(self):
        """Receives once. Returns None before the end of the range, then the seconds since `ask`; checks the range."""
        with memoryview(self.buffer) as view:
            count = self.socket.recv_into(view[self.filled:])
        self.filled += count
        if self.start is None and (end := self.buffer.find(b'\r\n\r\n', 0, self.filled)) >= 0:
            self.start = end + 4
        if count > 0 and (self.start is None or self.filled < self.start + READ):
            return None
        seconds = time.perf_counter() - self.asked
        if not (self.buffer.startswith(b'HTTP/1.1 206 ') and self.filled == self.start + READ
                and self.buffer[self.start:self.filled] == self.truth[self.offset:self.offset + READ]):
            sys.exit(f'Wrong range at {self.offset}: {bytes(self.buffer[:min(self.filled, 300)])}')
        return seconds


def read_alone(url, truth, offsets):
    """Reads the ranges one after the other on one connection; returns the seconds of each."""
    client, times = Client(url, truth), []
    for offset in offsets:
        client.ask(offset)
        while (seconds := client.receive()) is None:
            pass
        times.append(seconds)
    client.socket.close()
    return times


def read_together(url, truth, offsets):
    """Reads the ranges on many connections at once, each with one range at a time; returns the seconds of each."""
    clients = {client.socket.fileno(): client for client in (Client(url, truth) for _ in range(options.clients))}
    rest, times = iter(offsets), []
    with select.epoll() as poll:
        for number, client in clients.items():
            poll.register(number, select.EPOLLIN)
            client.ask(next(rest))
        while len(times) < len(offsets):
            if not (ready := poll.poll(PATIENCE)):
                sys.exit(f'No bytes for {PATIENCE} s, after {len(times)} reads.')
            for number, _ in ready:
                if (seconds := clients[number].receive()) is not None:
                    times.append(seconds)
                    if (offset := next(rest, None)) is not None:
                        clients[number].ask(offset)
    for client in clients.values():
        client.socket.close()
    return times


def timed(read, pid, *arguments):
    """Returns the seconds of each read and of all, and the CPU seconds of the server, of this process and of others."""
    before, busy, own, start = cpu_seconds(pid), busy_seconds(), time.process_time(), time.perf_counter()
    times = read(*arguments)
    wall, cpu, own = time.perf_counter() - start, cpu_seconds(pid) - before, time.process_time() - own
    return times, wall, cpu, own, max(0, busy_seconds() - busy - cpu - own)


def percentile(times, part):
    return sorted(times)[math.ceil(len(times) * part) - 1]


def make_archive(folder):
    """Makes the tar.gz and its index; returns its path and the path of the large member's bytes."""
    write_mixed(os.path.join(folder, 'large'), options.member)
    os.mkdir(os.path.join(folder, 'small'))
    for number in range(SMALL_COUNT):
        with open(os.path.join(folder, 'small', f'{number:04}.txt'), 'w') as file:
            file.write(f'{number} is a small member.\n' * 40)
    path = os.path.join(folder, 'archive.tgz')
    subprocess.run([tool('tar'), '-C', folder, '-czf', path, 'large', 'small'], check=True)
    subprocess.run([blob, 'index', 'build', path], check=True, stdout=subprocess.DEVNULL)
    return path, os.path.join(folder, 'large')


def measure_reads(folder):
    path, large = make_archive(folder)
    rng, last = random.Random(5), (options.member << 20) - READ
    offsets = [rng.randrange(last) for _ in range(options.reads)]
    many = [rng.randrange(last) for _ in range(options.reads * 10)]
    with open(large, 'rb') as file, serving(path) as (pid, url):
        truth = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        # The first read opens the archive and its index, so it counts neither as a read nor in the CPU time of a read.
        first, = read_alone(f'{url}/large', truth, [last // 2])
        alone = timed(read_alone, pid, f'{url}/large', truth, offsets)
        peak_alone = peak_memory(pid)
        together = timed(read_together, pid, f'{url}/large', truth, many)
        peak = peak_memory(pid)

    times, wall, cpu, own, others = alone
    each, wall_each = cpu / len(times), wall / len(times)
    median, high = statistics.median(times), percentile(times, 0.99)
    title = f'64 KiB at a random offset of a member of {options.member} MiB of a tar.gz, with an index'
    print(f'\n{title}   goal: median at most {MEDIAN_GOAL} ms\n'
          f'  one client: median {median * 1000:.2f} ms, 99th percentile {high * 1000:.2f} ms, '
          f'longest {max(times) * 1000:.2f} ms, the first one {first * 1000:.2f} ms; '
          f'other processes used {others / wall:.2f} cores\n'
          f'  CPU of a read: server {each * 1000:.2f} ms, client {own / len(times) * 1000:.2f} ms; '
          f'peak memory of the server {peak_alone:.1f} MiB; all {len(times)} ranges have the right bytes', flush=True)
    TABLES.append((SUBJECTS[-1], title, [('blob serve, median', median, each, peak_alone),
                                         ('blob serve, 99th percentile', high, each, peak_alone)], set()))

    times, wall, cpu, own, others = together
    cores = len(os.sched_getaffinity(0))
    rate, possible = len(times) / wall, cores / max(each, 1e-6)
    title = f'the same by {options.clients} clients at once, per read'
    print(f'\n{title}   goal: at least {SCALING_GOAL} of {cores} cores / CPU of a read, at most {MEMORY_GOAL} MiB\n'
          f'  {options.clients} clients: {rate:.0f} reads/s of {possible:.0f}, quotient {rate / possible:.2f}; '
          f'median {statistics.median(times) * 1000:.1f} ms, 99th percentile {percentile(times, 0.99) * 1000:.1f} ms; '
          f'other processes used {others / wall:.2f} cores\n'
          f'  CPU of a read: server {cpu / len(times) * 1000:.2f} ms, client {own / len(times) * 1000:.2f} ms; '
          f'peak memory of the server {peak:.1f} MiB; all {len(times)} ranges have the right bytes', flush=True)
    TABLES.append((SUBJECTS[-1], title, [
        (f'blob serve, {options.clients} clients', wall / len(times), cpu / len(times), peak),
        ('blob serve, one client', wall_each, each, peak_alone)], set()))


if not curl or not nginx:
    sys.exit('This needs curl and nginx.')
banner('Serving', blob, options)
with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    os.environ['XDG_CACHE_HOME'] = os.path.join(folder, 'cache')
    measure_file(folder)
    measure_reads(folder)
