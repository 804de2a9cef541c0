#!/usr/bin/env python3
"""Uploads to a server that goes wrong at each stage of a request, in clear text and over TLS, and judges each outcome.

usage: Tests/UploadFaults/run.py BLOB [--jobs N] [--every N] [--only TEXT]

A case is wrong when the program crashes or hangs, when it reports success although the server did not read the whole
body and answer with a success, when it reports no success although the server did both well, or when a body is sent
again that must not be: any, but a PUT of at most 64 KiB on a connection that was used before.
"""
import argparse, collections, os, queue, select, socket, ssl, struct, subprocess, sys, tempfile, threading, time

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--jobs', type=int, default=8, help='cases at a time (default 8)')
parser.add_argument('--every', type=int, default=1, help='of N cases that follow each other, only the first')
parser.add_argument('--only', default='', help='cases whose name contains this')
options = parser.parse_args()
blob = os.path.abspath(options.blob)
certificates = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../HTTPTestSupport/Certificates')
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(f'{certificates}/server.pem')

SMALL, LARGE = 3000, 2_000_000
IDLE_LIMIT = 2
PATIENCE = 40  # The idle limit, for several stages, on a busy machine.
GOOD = b'HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nyes'


class Over(Exception):
    """The script of a connection has ended."""


class Connection:
    """The server's side of a connection, with what it knows of its requests."""

    def __init__(self, raw, is_encrypted):
        self.raw, self.socket, self.rest = raw, raw, b''
        self.bodies = []  # True for each request whose body was read to its end.
        # True when the last request was read and answered with a success; None when that cannot be told from outside.
        self.is_done = False
        raw.settimeout(PATIENCE)
        if is_encrypted:
            self.socket = tls.wrap_socket(raw, server_side=True)

    def receive(self):
        bytes = self.socket.recv(1 << 16)
        if not bytes:
            raise Over
        self.rest += bytes

    def head(self):
        while b'\r\n\r\n' not in self.rest:
            self.receive()
        head, self.rest = self.rest.split(b'\r\n\r\n', 1)
        self.bodies.append(False)
        self.is_done = False
        fields = dict(line.lower().split(b': ', 1) for line in head.split(b'\r\n')[1:] if b': ' in line)
        self.length = int(fields.get(b'content-length', b'-1'))
        if fields.get(b'expect') == b'100-continue':
            self.socket.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')

    def body(self, limit=None):
        """Reads the body, or so many bytes of it; chunks are read with their framing."""
        while True:
            if limit is not None and len(self.rest) >= limit:
                return
            if self.length >= 0 and len(self.rest) >= self.length:
                self.rest = self.rest[self.length:]
                break
            if self.length < 0 and self.rest.endswith(b'0\r\n\r\n'):
                self.rest = b''
                break
            self.receive()
        self.bodies[-1] = True

    def send(self, bytes):
        self.socket.sendall(bytes)

    def answer_well(self):
        self.send(GOOD)
        self.is_done = self.bodies[-1]

    def reset(self):
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        raise Over

    def stall(self):
        """Waits for the client to give up, without reading what it sends."""
        poller = select.poll()
        poller.register(self.raw, select.POLLRDHUP)
        poller.poll(PATIENCE * 1000)
        raise Over


def end(connection):
    raise Over


ENDINGS = {'ends': end, 'resets': Connection.reset, 'stalls': Connection.stall}

# The answers to a request that was read whole, and whether each is a success.
ANSWERS = {
    'a success': (GOOD, True),
    'a success without a reason': (b'HTTP/1.1 201\r\nContent-Length: 0\r\n\r\n', True),
    'a success of HTTP/1.0': (b'HTTP/1.0 200 OK\r\n\r\nyes', True),
    'chunks with a trailer': (
        b'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\nX-Trailer: a\r\n\r\n', True),
    '100, 103 and a success': (b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n' + GOOD, True),
    'no content': (b'HTTP/1.1 204 No Content\r\n\r\n', True),
    'a bare status line': (b'HTTP/1.1 201 Created', False),
    'a status line': (b'HTTP/1.1 201 Created\r\n', False),
    'a head without its end': (b'HTTP/1.1 201 Created\r\nContent-Length: 3\r\n', False),
    'half of its body': (b'HTTP/1.1 201 Created\r\nContent-Length: 30\r\n\r\nyes', False),
    'chunks without an end': (b'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n', False),
    'chunks that are none': (b'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nyes\r\n', False),
    'two lengths': (b'HTTP/1.1 201 Created\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nyes', False),
    'a length that is none': (b'HTTP/1.1 201 Created\r\nContent-Length: -3\r\n\r\nyes', False),
    'garbage': (bytes(range(256)) * 4, False),
    'nothing': (b'', False),
    'a head of 400 KB': (b'HTTP/1.1 201 Created\r\n' + b'X: %s\r\n' % (b'a' * 8000) * 50 + b'\r\n', False),
    'a NUL in its head': (b'HTTP/1.1 201 Cre\0ated\r\nContent-Length: 0\r\n\r\n', None),
    'status 999': (b'HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n', False),
    'status 20': (b'HTTP/1.1 20 What\r\nContent-Length: 0\r\n\r\n', False),
    'another place': (b'HTTP/1.1 307 There\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n', False),
    'a refusal': (b'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno', False),
    'a refusal that stalls': (b'HTTP/1.1 403 No\r\nContent-Length: 200\r\n\r\nno', False),
    'a failure': (b'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n', False),
}


def scripts():
    """The names of what servers do, and functions that do it to one request."""
    for name, ending in ENDINGS.items():
        yield f'{name} before the head', ending

        def behind_head(connection, ending=ending):
            connection.head()
            ending(connection)
        yield f'{name} behind the head', behind_head

        def in_body(connection, ending=ending):
            connection.head()
            connection.body(1000)
            ending(connection)
        yield f'{name} in the body', in_body

        def behind_body(connection, ending=ending):
            connection.head()
            connection.body()
            ending(connection)
        yield f'{name} behind the body', behind_body

        for status in (b'201 Created', b'413 Too Large'):
            def early(connection, ending=ending, status=status):
                connection.head()
                connection.body(1000)
                # What the system of a server has taken of a small body, its program may never read.
                connection.is_done = None if status.startswith(b'2') and connection.is_small else False
                connection.send(b'HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n' % status)
                ending(connection)
            yield f'answers {status[:3].decode()} early and {name}', early
    for name, (answer, is_success) in ANSWERS.items():
        def answering(connection, answer=answer, is_success=is_success, name=name):
            connection.head()
            connection.body()
            # Only of an answer of known length does the client know the end before it closes TLS, which this server
            # does not read.
            is_told = connection.socket is connection.raw or b'chunked' not in answer
            connection.is_done = is_success if is_told or not is_success else None
            connection.send(answer)
            if 'stalls' in name:
                connection.stall()
        yield f'answers with {name}', answering


class Case:
    def __init__(self, name, script, is_encrypted, method, byte_count, is_known, is_reused):
        self.script, self.is_encrypted, self.is_reused, self.method = script, is_encrypted, is_reused, method
        self.byte_count, self.is_known = byte_count, is_known
        self.name = (f'{name}; {method} of {byte_count} bytes, ' + ('' if is_known else 'of unknown length, ')
                     + ('TLS' if is_encrypted else 'clear text') + (', on an open connection' if is_reused else ''))
        self.connections = []

    def serve(self, listener):
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.handle, args=(raw, len(self.connections)), daemon=True).start()

    def handle(self, raw, number):
        connection = None
        try:
            connection = Connection(raw, self.is_encrypted)
            connection.is_small = self.byte_count == SMALL
            self.connections.append(connection)
            if self.is_reused and number == 0:
                connection.head()
                connection.body()
                connection.answer_well()
                connection.is_done = False
            if self.is_reused and number > 0:
                # The request was made again, and this server is well.
                connection.head()
                connection.body()
                connection.answer_well()
            else:
                self.script(connection)
        except (Over, OSError, ValueError):
            pass
        finally:
            try:
                (connection.socket if connection else raw).close()
            except OSError:
                pass

    def run(self, folder):
        listener = socket.create_server(('127.0.0.1', 0), backlog=16)
        threading.Thread(target=self.serve, args=(listener,), daemon=True).start()
        url = f'{"https" if self.is_encrypted else "http"}://127.0.0.1:{listener.getsockname()[1]}/'
        content = f'{folder}/{self.byte_count}'
        sources = [f'{folder}/first', content] if self.is_reused else ['-' if not self.is_known else content]
        command = [blob, 'upload', *sources, url if self.is_reused else url + 'x', '-X', self.method, '--jobs', '1',
                   '--idle-timeout', str(IDLE_LIMIT), '--cacert', f'{certificates}/authority.pem']
        start = time.monotonic()
        with open(content, 'rb') as file:
            reader = None
            if not self.is_known:  # A pipe, of which nobody knows the length.
                reader = subprocess.Popen(['cat'], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            process = subprocess.Popen(command, stdin=reader.stdout if reader else subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if reader:
                reader.stdout.close()
            try:
                self.errors = process.communicate(timeout=PATIENCE)[1].decode(errors='replace').strip()
                self.status = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                self.errors, self.status = process.communicate()[1].decode(errors='replace').strip(), None
            if reader:
                reader.kill()
                reader.wait()
        self.seconds = time.monotonic() - start
        listener.close()
        return self.judge()

    def judge(self):
        if self.status is None:
            return f'it hung for {PATIENCE} s'
        if self.status not in (0, 65, 69, 74, 75, 76):
            return f'it ended with {self.status}'
        done = self.connections[-1].is_done if self.connections else False
        if self.is_reused and self.name.startswith('resets before'):
            done = None  # Whether the reset means the first request cannot be told.
        if self.status == 0 and done is False:
            return 'it reported a success that was none'
        if self.status != 0 and done is True:
            return 'it reported no success, and there was one'
        requests = sum(len(connection.bodies) for connection in self.connections) - self.is_reused
        if requests > (2 if self.is_reused and self.method == 'PUT' else 1):
            return f'it made the request {requests} times'
        return None


def cases():
    for name, script in scripts():
        for is_encrypted in (False, True):
            yield Case(name, script, is_encrypted, 'PUT', SMALL, True, False)
            yield Case(name, script, is_encrypted, 'POST', LARGE, True, False)
            yield Case(name, script, is_encrypted, 'PUT', LARGE, False, False)
            yield Case(name, script, is_encrypted, 'POST', SMALL, False, False)
            yield Case(name, script, is_encrypted, 'PUT', SMALL, True, True)


def main():
    work = queue.Queue()
    for number, case in enumerate(cases()):
        if options.only in case.name and number % options.every == 0:
            work.put(case)
    count, wrong, kinds, slowest = work.qsize(), [], collections.Counter(), 0
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as folder:
        for name, byte_count in (('first', 10), (SMALL, SMALL), (LARGE, LARGE)):
            with open(f'{folder}/{name}', 'wb') as file:
                file.write(os.urandom(byte_count))

        def worker():
            nonlocal slowest
            while True:
                try:
                    case = work.get_nowait()
                except queue.Empty:
                    return
                verdict = case.run(folder)
                with lock:
                    slowest = max(slowest, case.seconds)
                    kinds['success' if case.status == 0 else case.errors.split(':')[1].strip() if ': ' in case.errors else '?'] += 1
                    if verdict:
                        wrong.append(case)
                        print(f'WRONG: {case.name}\n  {verdict}\n  {case.errors[:300]}', flush=True)

        threads = [threading.Thread(target=worker) for _ in range(options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f'{count} cases, {len(wrong)} wrong; the longest took {slowest:.1f} s; '
          + ', '.join(f'{kind} {number}' for kind, number in kinds.most_common()))
    sys.exit(1 if wrong else 0)


main()
