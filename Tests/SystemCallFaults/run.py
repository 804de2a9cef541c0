#!/usr/bin/env python3
"""Fails the system calls of `blob`, one after the other, and checks what it makes of that.

usage: Tests/SystemCallFaults/run.py BLOB [--runs N] [--only WORD] [--modes LIST] [--seed N] [--jobs N] [--keep]

Each use of the command runs with its call number k failing, once, and with all calls from number k on failing, for each
k up to the number of its calls; so do the calls by which libraries in C get memory; also with interrupted calls, short
ones, and pages that are not in the page cache. With --runs, about so many of those runs, at random. A run passes when
it ends in time, without a signal, and

- with status 0, the right bytes, and the right output file, if one was asked for; or
- with the status of its error, which is one line, a true prefix of the bytes, no output file, and no temporary file.

Interrupted and short calls may not be seen at all: only the first way passes. A library that ends or crashes the
process without memory is a known limit, which is counted, as is SQLite when an fsync is interrupted.
"""
import argparse, collections, hashlib, mmap, os, random, re, shutil, signal, struct, subprocess, sys, tempfile
import threading, time
from concurrent.futures import ThreadPoolExecutor

import fixtures
from servers import Files, Receiver, request
from uses import Use, uses

# Seconds that a run may take: far more than the slowest takes, byte by byte.
PATIENCE = 120
# Transfers of short calls, in bytes: one, and more for uses that read megabytes.
SHORT = {'small': 1, 'big': 777}
# The error numbers: the typical one of each call, and some that any call may give.
NUMBERS = {'typical': 0, 'EIO': 5, 'ENOMEM': 12}
STATUS = {
    'notFound': 66, 'permissionDenied': 77, 'invalidArgument': 64, 'unsupported': 65, 'corrupted': 65, 'truncated': 65,
    'limitExceeded': 65, 'inconsistent': 65, 'checksumMismatch': 65, 'encrypted': 65, 'changed': 75,
    'timedOut': 75, 'io': 74, 'unavailable': 69}
# The names of temporary files: those of AtomicFile and UnlinkedFile.
TEMPORARY = re.compile(r'(^|/)\.[^/]+\.[0-9a-z]{8,13}$|(^|/)blob-spool-')
# A lack of memory in a library that reads a format, as the library tells it.
MEMORY = {'corrupted', 'truncated', 'limitExceeded', 'unsupported', 'encrypted', 'checksumMismatch'}
# Libraries that end the process without memory; GRDB does where SQLite cannot even end a transaction.
FATAL = re.compile(r'(?:Fatal Internal Error in )?(libarchive|GRDB|NIO)(?:Core|Posix)?[:/]')
# GRDB has queues: libdispatch waits for ever for its threads, and traps without its loop.
SPARED_FOR_DISPATCH = ' pthread_create epoll_create1 epoll_ctl eventfd '


class Suite:
    def __init__(self, options):
        self.blob = os.path.abspath(options.blob)
        self.helper = os.path.join(os.path.dirname(self.blob), 'blob-archive-helper')
        self.folder = tempfile.mkdtemp(prefix='BlobStreams-faults-')
        self.F = os.path.join(self.folder, 'fixtures')
        os.mkdir(self.F)
        self.shim = os.path.join(self.folder, 'faults.so')
        here = os.path.dirname(os.path.abspath(__file__))
        sources = [os.path.join(here, name) for name in ('faults.c', 'memory.c')]
        subprocess.run(['cc', '-shared', '-fPIC', '-O2', '-o', self.shim, *sources, '-ldl'], check=True)
        self.content = fixtures.make(self.F)
        self.web = Files(self.F)
        receive = os.path.join(os.path.dirname(self.blob), 'blob-receive')
        self.receiver = None
        if os.access(receive, os.X_OK):
            self.receiver = Receiver(receive, os.path.join(self.folder, 'received'))
        self.lock = threading.Lock()
        self.failures, self.kinds, self.calls = [], collections.Counter(), collections.Counter()
        self.limits = collections.Counter()
        self.number, self.count = 0, 0
        # A shim that is not loaded would pass everything.
        outcome = self.run(Use('check', ['cat', '{F}/small'], None), 'once', 10 ** 9)
        if outcome['count'] == 0:
            sys.exit('No call was counted: the shim was not loaded.')

    # MARK: One run

    def run(self, use, mode, at=0, number=0):
        """Runs once; returns the outcome, with its verdict under 'wrong': None when it passes."""
        with self.lock:
            self.number += 1
            name = f'run-{self.number}'
        output = os.path.join(self.folder, name)
        os.mkdir(output)
        caches = os.path.join(output, 'caches')
        if use.caches:
            shutil.copytree(use.caches, caches)
        else:
            os.mkdir(caches)
        if use.library:
            shutil.copytree(use.library, os.path.join(output, 'library'))
        page = os.path.join(output, 'page')
        with open(page, 'wb') as file:
            file.write(bytes(mmap.PAGESIZE))
        faults = {
            'FAULTS_FILE': page, 'FAULTS_PROGRAM': use.program, 'FAULTS_MODE': mode, 'FAULTS_AT': str(at),
            'FAULTS_ERROR': str(number), 'LD_PRELOAD': self.shim}
        environment = dict(os.environ, XDG_CACHE_HOME=caches, SWIFT_BACKTRACE='enable=no')
        if use.library:
            faults['FAULTS_SPARED'] = SPARED_FOR_DISPATCH
        if use.program != 'blob-archive-helper':
            environment.update(faults)
        else:
            # The helper gets a small environment of its own.
            script = os.path.join(output, 'helper')
            with open(script, 'w') as file:
                words = ' '.join(f"{key}='{value}'" for key, value in faults.items())
                file.write(f'#!/bin/sh\nexec env {words} {self.helper} "$@"\n')
            os.chmod(script, 0o755)
            environment['BLOB_ARCHIVE_HELPER'] = script
        upload = f'{self.receiver.url}{name}' if self.receiver else ''
        fill = lambda text: text.format(F=self.F, O=output, H=self.web.url, U=upload)
        stdin = subprocess.DEVNULL
        feeders = []
        if use.input:
            ends = os.pipe()
            stdin = ends[0]
            feeders.append(threading.Thread(target=self.feed, args=(lambda: ends[1], use.input, None)))
        if use.fifo:
            os.mkfifo(os.path.join(output, 'fifo'))
        program = os.path.join(os.path.dirname(self.blob), use.program) if use.requests else self.blob
        process = subprocess.Popen(
            [program] + [fill(word) for word in use.words], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment, cwd=output)
        if use.input:
            os.close(stdin)
        if use.fifo:
            feeders.append(threading.Thread(
                target=self.feed, args=(lambda: self.open_fifo(output, process), use.fifo, process)))
        for feeder in feeders:
            feeder.start()
        outcome = {'wrong': None}
        if use.requests:
            outcome['wrong'] = self.visit(process, use, mode)
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            outcome['wrong'] = 'does not end'
        for feeder in feeders:
            feeder.join()
        with open(page, 'rb') as file:
            outcome['count'], outcome['failed'], call, crash = struct.unpack('QQ48s48s', file.read(112))
        outcome['call'], outcome['crash'] = (text.split(b'\0')[0].decode() for text in (call, crash))
        # A server was asked to end.
        is_asked = use.requests and process.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
        outcome['status'] = 0 if is_asked else process.returncode
        outcome['errors'] = stderr.decode(errors='replace')
        # The thread of transfers waits for at most a minute, each time, for what nobody can send it.
        if outcome['wrong'] == 'does not end' and mode == 'on' and outcome['call'] == 'send' and not use.requests:
            with self.lock:
                self.limits['threads that cannot be woken take minutes'] += 1
            shutil.rmtree(output, ignore_errors=True)
            return dict(outcome, wrong=None)
        outcome['wrong'] = outcome['wrong'] or self.judge(use, mode, outcome, stdout, stderr, output)
        if not outcome['wrong'] and use.after:
            words, expected = use.after
            clean = dict(os.environ, XDG_CACHE_HOME=caches)
            result = subprocess.run(
                [self.blob] + [fill(word) for word in words], capture_output=True, env=clean, stdin=subprocess.DEVNULL)
            if result.returncode != 0 or expected is not None and result.stdout != expected:
                outcome['wrong'] = f'afterwards: status {result.returncode}, {result.stderr!r}, or other bytes'
        with self.lock:
            self.count += 1
            ending = 'right bytes' if outcome['status'] == 0 else outcome['errors'].split(': ')[1:2] or ['?']
            self.kinds[ending if isinstance(ending, str) else ending[0]] += 1
            if outcome['failed']:
                self.calls[outcome['call'] or mode] += 1
        shutil.rmtree(output, ignore_errors=True)
        return outcome

    @staticmethod
    def visit(process, use, mode):
        """Sends the requests to a server until all succeed, and asks it to end; returns what is wrong."""
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        url, wrong, failures = process.stdout.readline().decode().strip(), None, 0
        for turn in range(6 if url else 0):
            failures = 0
            for words in use.requests:
                answer = request(url, *words)
                failures += answer is None
                wrong = wrong or answer
            if turn >= 2 and not failures:
                break
        # A request that meets the fault may fail. With calls that go on failing, all of them may.
        if failures and mode not in ('on', 'memory-on'):
            try:
                # A receiver that cannot report what it received ends.
                process.wait(5 if use.program == 'blob-receive' else 0)
            except subprocess.TimeoutExpired:
                wrong = wrong or 'all requests after the fault fail'
        process.terminate()
        timer.cancel()
        return wrong

    @staticmethod
    def open_fifo(output, process):
        # Opened for reading too late or not at all by a process that fails.
        while process.poll() is None:
            try:
                end = os.open(os.path.join(output, 'fifo'), os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(end, True)
                return end
            except OSError:
                try:
                    process.wait(0.001)
                except subprocess.TimeoutExpired:
                    pass
        return None

    @staticmethod
    def feed(opened, path, process):
        end = opened()
        if end is None:
            return
        with open(path, 'rb') as file:
            data = file.read()
        try:
            while data:
                data = data[os.write(end, data[:1 << 16]):]
        except OSError:
            pass
        os.close(end)

    def judge(self, use, mode, outcome, stdout, stderr, output):
        status, expected = outcome['status'], use.expected
        fatal = FATAL.match(outcome['errors'])
        # NIO ends the process when a thread or a descriptor of its loop cannot be made.
        if use.requests and status == -signal.SIGILL and (fatal or not stderr):
            fatal = fatal or ['', 'NIO']
        if status != 0 and (fatal and fatal[1] == 'NIO' or mode.startswith('memory') and (outcome['crash'] or fatal)):
            with self.lock:
                self.limits[
                    f"{outcome['crash']} crashes" if outcome['crash'] else f'{fatal[1]} ends the process'] += 1
            return None
        if status < 0:
            return f'ended by signal {-status}: {stderr[:300]!r}'
        if use.output:
            path = os.path.join(output, use.output)
            found = None
            if os.path.exists(path):
                with open(path, 'rb') as file:
                    found = file.read()
            if status == 0 and expected is not None and found != expected:
                return 'status 0, and the output file is missing or has other bytes'
            # What could not be synchronised is the folder, after the renaming.
            if status != 0 and found is not None and (found != expected or 'the folder of' not in outcome['errors']):
                return 'an output file after an error'
        elif status == 0 and expected is not None and stdout != expected:
            return f'status 0 after {len(stdout)} bytes, of {len(expected)}, or others'
        elif use.isList and set(stdout.splitlines()) <= set(expected.splitlines()):
            pass
        elif expected is not None and not expected.startswith(stdout):
            return f'{len(stdout)} bytes, which are no prefix'
        if use.received is not None:
            digest = hashlib.sha256(use.received).hexdigest()
            reported = self.receiver.reports(os.path.basename(output), 10 if status == 0 else 0)
            if any(other != digest for other in reported):
                return 'the receiver got another body, and took it for complete'
            if status == 0 and (not reported or digest not in stdout.decode()):
                return 'status 0, and the receiver did not get the body'
        left = [name for name in self.files(output) if TEMPORARY.search(name)]
        if left:
            return f'left behind: {left}'
        if status == 0:
            return f'status 0, and errors: {stderr!r}' if stderr and not use.requests else None
        # SQLite repeats its other calls, but not this one.
        if mode == 'storm' and 'SQLite 1034' in outcome['errors']:
            with self.lock:
                self.limits['SQLite fails when its fsync is interrupted'] += 1
            return None
        # After a head that was sent in parts, libcurl 7.88 sends a body of unknown length without chunks, as curl does.
        if mode == 'short' and 'invalid character in chunk size header' in outcome['errors']:
            with self.lock:
                self.limits['libcurl sends no chunks after a head that is sent in parts'] += 1
            return None
        if mode in ('storm', 'short', 'uncached'):
            return f'status {status}: {stderr!r}'
        match = re.match(r'(blob\S*: )(\w+): ', outcome['errors'])
        lines = outcome['errors'].split('\n')[:-1]
        if not match or not use.isList and len(lines) != 1 or not all(line.startswith(match[1]) for line in lines):
            return f'status {status}, and no error of one line: {stderr!r}'
        if STATUS.get(match[2]) != status:
            return f'status {status} of {match[2]}'
        if match[2] not in use.codes | (MEMORY if mode.startswith('memory') else set()):
            return f'an error of another kind: {stderr!r}'
        return None

    @staticmethod
    def files(folder):
        return [
            os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names]

    # MARK: All runs

    def plan(self, use):
        """The runs of a use, but those up to the number of its calls."""
        yield use, 'storm', 0, 0
        yield use, 'short', SHORT[use.size], 0
        yield use, 'uncached', 0, 0

    def all(self, options):
        generator = random.Random(options.seed)
        plans = []
        for use in uses(self.blob, self.folder, self.F, self.content, self.receiver is not None):
            if options.only and options.only not in use.name:
                continue
            # The number of calls of a run without faults, and some: after a fault there may be more.
            calm = self.run(use, 'once', 10 ** 9)
            self.check(use, 'no fault', 0, 0, calm)
            plan = list(self.plan(use)) if use.program == 'blob' or calm['count'] > 0 else []
            for mode in ('once', 'on'):
                for name, number in NUMBERS.items():
                    plan += [(use, mode, at, number) for at in range(1, calm['count'] * 5 // 4 + 4)]
            calm = self.run(use, 'memory', 10 ** 9)
            for mode in ('memory', 'memory-on'):
                plan += [(use, mode, at, 0) for at in range(1, calm['count'] + 1)]
            plans.append([run for run in plan if run[1] in options.modes.split(',')])
        # Short plans first: whatever time there is, as many uses as possible are complete.
        runs = [run for plan in sorted(plans, key=len) for run in plan]
        print(f'{len(plans)} uses, {len(runs)} runs', flush=True)
        if options.runs and options.runs < len(runs):
            runs = generator.sample(runs, options.runs)
        left = collections.Counter(use.name for use, *_ in runs)
        with ThreadPoolExecutor(options.jobs) as pool:
            for run, outcome in zip(runs, pool.map(lambda run: self.run(*run), runs)):
                self.check(*run, outcome)
                left[run[0].name] -= 1
                if not options.runs and left[run[0].name] == 0:
                    print(f'{run[0].name}: complete', flush=True)

    def check(self, use, mode, at, number, outcome):
        if outcome['wrong']:
            text = f"{use.name}: {mode}, call {at} ({outcome['call']}), error {number}: {outcome['wrong']}"
            self.failures.append(text)
            print(text, flush=True)


parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--runs', type=int, default=0, help='about so many runs, at random (default: all)')
parser.add_argument('--only', default='', help='uses whose name contains this')
parser.add_argument('--modes', default='once,on,storm,short,uncached,memory,memory-on')
parser.add_argument('--seed', type=int, default=None)
parser.add_argument('--jobs', type=int, default=os.cpu_count())
parser.add_argument('--keep', action='store_true', help='leave the folder with the fixtures')
options = parser.parse_args()
if not sys.platform.startswith('linux'):
    sys.exit('Calls are made to fail on Linux alone.')
if options.seed is None:
    options.seed = random.randrange(1 << 32)
start = time.monotonic()
suite = Suite(options)
try:
    suite.all(options)
finally:
    if suite.receiver:
        suite.receiver.stop()
    if options.keep:
        print(suite.folder)
    else:
        shutil.rmtree(suite.folder, ignore_errors=True)
kinds = ', '.join(f'{count} {kind}' for kind, count in suite.kinds.most_common())
print(f'seed {options.seed}: {suite.count} runs in {time.monotonic() - start:.0f} s: {kinds}')
print('calls that failed first: ' + ', '.join(f'{name} {count}' for name, count in suite.calls.most_common()))
if suite.limits:
    print('known limits: ' + ', '.join(f'{name} {count}' for name, count in suite.limits.most_common()))
if suite.failures:
    sys.exit(f'{len(suite.failures)} runs were wrong')
