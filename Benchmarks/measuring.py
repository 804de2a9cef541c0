"""Shared by the scripts of this folder: runs commands in turn, and generates data that are the same in every run."""
import array, atexit, ctypes, importlib.util, json, os, random, select, shutil, statistics, subprocess, sys, time

import pictures


def tool(name):
    """Returns the path of a program, or None; prefers the program beside this Python, to avoid a slow shim of pip."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    return beside if os.access(beside, os.X_OK) else shutil.which(name)


def has_module(name):
    return importlib.util.find_spec(name) is not None


# The reader of a pipe: a separate process that reads like `cat` and does nothing else.
READER = '''
import os
buffer = bytearray(131072)
os.write(1, b"r")
while os.readv(0, [buffer]): pass
'''


class Failure(Exception):
    """A command ended with an error."""


def run(argv, into_pipe=False, source=None):
    """Returns the wall seconds and the CPU seconds of the process.

    source: the path of its standard input, if any; with `into_pipe`, another process writes this file into a pipe.
    """
    ends = os.pipe() if into_pipe else None
    out = ends[1] if ends else os.open(os.devnull, os.O_WRONLY)
    reader = None
    if ends:
        reader = subprocess.Popen([sys.executable, '-c', READER], stdin=ends[0], stdout=subprocess.PIPE)
        reader.stdout.read(1)  # The reader is ready, so its start-up does not count.
        os.close(ends[0])
    actions = [(os.POSIX_SPAWN_DUP2, out, 1)]
    file = writer = None
    if source:
        file = open(source, 'rb')
        if into_pipe:
            writer = subprocess.Popen([tool('cat')], stdin=file, stdout=subprocess.PIPE)
            file.close()
            file = writer.stdout
            select.select([file], [], [])  # The writer has started.
        actions.append((os.POSIX_SPAWN_DUP2, file.fileno(), 0))
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
    os.close(out)
    if file:
        file.close()
    _, status, usage = os.wait4(pid, 0)
    if reader:
        reader.wait()
    wall = time.perf_counter() - start
    if writer:
        writer.wait()
    if status != 0:
        raise Failure(f'{" ".join(argv)}: status {os.waitstatus_to_exitcode(status)}')
    return wall, usage.ru_utime + usage.ru_stime


def peak_memory(argv, source=None):
    """Returns the peak memory in MiB of a separate run; None where it cannot be measured.

    A process starts with the memory of its parent, and this script is larger than what it measures. So a small shell
    starts the process and exits, and the process becomes a child of this script (prctl(2), Linux).
    """
    if not sys.platform.startswith('linux'):
        return None
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    shell = subprocess.Popen(['/bin/sh', '-c', 'file=$1; shift; "$@" < "$file" > /dev/null & echo $!', 'sh',
                              source or os.devnull, *argv], stdout=subprocess.PIPE)
    pid = int(shell.stdout.readline())
    shell.wait()
    try:
        _, _, usage = os.wait4(pid, 0)
    except ChildProcessError:  # The process ended so early that the shell has already reaped it.
        return None
    return usage.ru_maxrss / 1024


# The output of `compare`: the subject from the banner, a title, the rows, and the programs of the peers.
TABLES = []
SUBJECTS = ['']


def compare(title, commands, goal='', runs=5, into_pipe=False, before=None, memory=True, source=None):
    """Runs the commands in turn and prints a table.

    commands: names and argument lists, ours first; one that fails or has no program is left out. The ratios are those
    of neighbouring runs, ours divided by the peer's: below 1, ours is faster. `before` is called with the name
    before each run. `source` is the path of their standard input. Returns the median wall seconds of each command; None
    when ours failed.
    """
    print(f'\n{title}' + (f'   goal: {goal}' if goal else ''), flush=True)
    times = {}

    def works(name, argv):
        try:
            if before:
                before(name)
            run(argv, into_pipe, source)
        except Failure as failure:
            print(f'  {name:<34} failed: {failure}', flush=True)
            return False
        times[name] = []
        return True

    first = commands[0][0]
    commands = [(name, argv) for name, argv in commands if argv and argv[0] and works(name, argv)]
    if first not in times:
        return None
    for _ in range(runs):
        for name, argv in commands:
            if before:
                before(name)
            times[name].append(run(argv, into_pipe, source))
    ours = times[first]
    TABLES.append((SUBJECTS[-1], title, rows := [], {argv[0] for _, argv in commands[1:]} - {commands[0][1][0]}))
    for name, argv in commands:
        theirs = times[name]
        wall, cpu = (statistics.median(a[i] / max(b[i], 1e-4) for a, b in zip(ours, theirs)) for i in (0, 1))
        if before:
            before(name)
        peak = peak_memory(argv, source) if memory else None
        rows.append((name, *(statistics.median(t[i] for t in theirs) for i in (0, 1)), peak))
        print(f'  {name:<34} {rows[-1][1]:>9.4f} s {rows[-1][2]:>9.4f} cpu'
              + (f' {peak:>7.1f} MiB' if peak else ' ' * 12)
              + ('' if theirs is ours else f'   ours/this: wall {wall:>6.2f}, cpu {cpu:>6.2f}'), flush=True)
    return {name: statistics.median(t[0] for t in values) for name, values in times.items()}


def measure_python(code, *arguments):
    """Runs Python code in a separate process, and returns its last line, decoded from JSON; None if it fails."""
    result = subprocess.run([sys.executable, '-c', code, *map(str, arguments)], stdout=subprocess.PIPE)
    return json.loads(result.stdout.splitlines()[-1]) if result.returncode == 0 else None


def banner(what, blob, options):
    """Prints the subject and the machine; at the end, draws the tables in the folder BENCHMARK_PICTURES, if set."""
    SUBJECTS.append(what)
    if folder := os.environ.get('BENCHMARK_PICTURES'):
        atexit.unregister(draw)
        atexit.register(draw, os.path.abspath(folder))
    print(f'{what}; {options.runs} runs of each, in turn, from the page cache; '
          f'load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {blob}', flush=True)


def draw(folder):
    """Draws the tables of this script, each in a separate file."""
    os.makedirs(folder, exist_ok=True)
    script = os.path.splitext(os.path.basename(sys.argv[0]))[0].replace('_', '-')
    for number, table in enumerate(TABLES, 1):
        path = os.path.join(folder, f'benchmark-{script}-{number}.svg')
        pictures.draw(path, *table)


def mixed_pieces(count, byte_count=1 << 20, seed=1):
    """Yields pieces of various data, the same for the same seed, which `gzip -6` compresses to about 1/3.6."""
    rng = random.Random(seed)
    words = [''.join(rng.choices('etaoinshrdlucmfwypvbgkjqxz', weights=range(26, 0, -1), k=rng.randint(2, 10)))
             for _ in range(4000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]

    def text():
        return ' '.join(rng.choices(words, weights, k=byte_count // 5))

    def log():
        names = words[:60]
        return '\n'.join(
            f'2026-03-{1 + n % 28:02} 12:{n % 60:02}:{n % 59:02}.{rng.randrange(1000):03} {level} {name}: request '
            f'{rng.randrange(1 << 24):x} took {rng.randrange(5000)} us, status {status}'
            for n, (level, name, status) in enumerate(zip(
                rng.choices(['INFO', 'DEBUG', 'WARN'], k=byte_count // 60), rng.choices(names, k=byte_count // 60),
                rng.choices([200, 204, 304, 404], k=byte_count // 60))))

    def records():
        return ',\n'.join(
            f'{{"id": {n}, "name": "{name}", "tags": ["{tag}", "new"], "value": {rng.randrange(10000)}, "active": true}}'
            for n, (name, tag) in enumerate(zip(rng.choices(words, weights, k=byte_count // 60),
                                                rng.choices(words[:40], k=byte_count // 60))))

    def numbers():
        value, values = 0, array.array('I')
        for step in rng.choices(range(16), k=byte_count // 4):
            value = (value + step) & 0xFFFFFFFF
            values.append(value)
        return values.tobytes()

    def noise():
        return rng.randbytes(byte_count)

    kinds = [text, log, records, log, numbers, records, text, log, records, noise, log, records, log,
             records]
    for number in range(count):
        piece = kinds[number % len(kinds)]()
        piece = piece.encode() if isinstance(piece, str) else piece
        yield (piece * (byte_count // len(piece) + 1))[:byte_count]


def write_mixed(path, mebibytes):
    """Writes mixed data, made of at most 42 pieces, none of which is repeated within the window of deflate."""
    pieces = list(mixed_pieces(min(mebibytes, 42)))
    order = random.Random(2)
    with open(path, 'wb') as file:
        for number in range(mebibytes):
            if number % len(pieces) == 0 and number > 0:
                order.shuffle(pieces)
            file.write(pieces[number % len(pieces)])
