#!/usr/bin/env python3
"""Measures the latency of small uploads beside a hostile sender, and the time for 10,000 parts with one name.

usage: Benchmarks/receiver.py BLOB [FOLDER] [--only WORD]

BLOB is the command, beside blob-receive; FOLDER is the folder for stored files, a temporary folder by default. The exit
status is 1 if one of 50 uploads took longer than 100 ms, or the parts longer than 2 s.
"""
import argparse, contextlib, multiprocessing, os, socket, statistics, subprocess, sys, tempfile, time

LIMIT, PARTS_LIMIT = 0.1, 2
COUNT = 50

PART = b'--B\r\nContent-Disposition: form-data; name="f"; filename="same"\r\n\r\nx\r\n'
HEAD = b'PUT /x HTTP/1.1\r\nHost: a\r\n'
CHUNKED = HEAD + b'Transfer-Encoding: chunked\r\n\r\n'
FORM = (b'POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\n'
        b'Connection: close\r\nContent-Length: %d\r\n\r\n')
ENDLESS_FORM = FORM % 60_000_000_000
MANY = PART * 10_000 + b'--B--\r\n'
TUS = b'POST /x HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\nUpload-Length: 1\r\nContent-Length: 0\r\n\r\n'


def connect(port):
    return socket.create_connection(('127.0.0.1', port))


def read_all(connection):
    answer = b''
    while piece := connection.recv(1 << 20):
        answer += piece
    return answer


def endless(first, rest):
    """Sends bytes without end, as fast as possible, and continues on a new connection when a connection ends."""
    def send(port):
        while True:
            with contextlib.suppress(OSError), connect(port) as connection:
                connection.settimeout(5)
                connection.sendall(first)
                while True:
                    connection.sendall(rest)

    return send


def whole(request):
    """Repeatedly sends a whole request and waits for its answer."""
    def send(port):
        while True:
            with contextlib.suppress(OSError), connect(port) as connection:
                connection.sendall(request)
                read_all(connection)

    return send


def drip(first, piece, count, pause):
    """Repeatedly sends a piece on each of many connections and waits; replaces connections that end."""
    def send(port):
        def start():
            connection = connect(port)
            connection.sendall(first)
            return connection

        connections = [start() for _ in range(count)]
        while True:
            for number, connection in enumerate(connections):
                try:
                    connection.sendall(piece)
                except OSError:
                    connections[number] = start()
            time.sleep(pause)

    return send


def knock(port):
    """Opens and closes connections as fast as possible."""
    while True:
        with contextlib.suppress(OSError), connect(port):
            pass


# Above the connection limit: further connections receive a 503 response immediately.
BEYOND = '550 idle connections'

SENDERS = {
    'nobody': None,
    '10,000 parts of one name': whole(FORM % len(MANY) + MANY),
    'parts without end': endless(ENDLESS_FORM, PART * 1000),
    'a part header without end': endless(ENDLESS_FORM + b'--B\r\nContent-Disposition: form-data; name="', b'a' * 65536),
    'part header lines without end': endless(ENDLESS_FORM + b'--B\r\n', b'A: b\r\n' * 1000),
    'almost boundaries': endless(ENDLESS_FORM + PART, b'\r\n--' * 16384),
    'header lines without end': endless(HEAD, b'A: b\r\n' * 1000),
    'a header line without end': endless(HEAD + b'A: ', b'a' * 65536),
    'a URL without end': endless(b'PUT /', b'a' * 65536),
    'a chunk extension without end': endless(CHUNKED + b'1;', b'a' * 65536),
    'chunks of one byte': endless(CHUNKED, b'1\r\na\r\n' * 10_000),
    'trailers without end': endless(CHUNKED + b'0\r\n', b'A: b\r\n' * 1000),
    'a body at full speed': endless(HEAD + b'Content-Length: 60000000000\r\n\r\n', b'a' * 1_000_000),
    'a refused body': endless(HEAD + b'Content-Length: 99999999999\r\n\r\n', b'a' * 1_000_000),
    'no reading of refusals': endless(b'', b'GET /x HTTP/1.1\r\nHost: a\r\n\r\n' * 1000),
    'no reading of answers': endless(b'', (HEAD + b'Content-Length: 1\r\n\r\na') * 1000),
    'no reading of resumable ones': endless(b'', TUS * 1000),
    'small uploads at full speed': whole(HEAD + b'Connection: close\r\nContent-Length: 1\r\n\r\na'),
    '400 slow heads': drip(HEAD + b'A: ', b'a', 400, 0.5),
    '400 slow bodies': drip(HEAD + b'Content-Length: 60000000\r\n\r\n', b'a', 400, 0.5),
    '400 bodies of 600 bytes/s': drip(HEAD + b'Content-Length: 60000000\r\n\r\n', b'a' * 60, 400, 0.1),
    '400 idle connections': drip(b'', b'', 400, 1),
    BEYOND: drip(b'', b'', 550, 1),
    'connections at full speed': knock,
}


@contextlib.contextmanager
def receiver(program, parent):
    """Yields the port of a receiver that stores in a new folder, and whose output is written to a file."""
    with tempfile.TemporaryDirectory(dir=parent) as folder, open(os.path.join(folder, 'lines'), 'wb+') as lines:
        process = subprocess.Popen([program, '--directory', os.path.join(folder, 'd')], stdout=lines)
        try:
            while not (line := open(lines.name, 'rb').readline()).endswith(b'\n'):
                time.sleep(0.01)
            yield int(line.strip(b'/\n').split(b':')[-1])
        finally:
            process.terminate()
            process.wait()


def put(port):
    """Returns the time of a small upload on a separate connection, and its status."""
    start = time.monotonic()
    with connect(port) as connection:
        connection.sendall(HEAD + b'Connection: close\r\nContent-Length: 1024\r\n\r\n' + b'a' * 1024)
        status = read_all(connection)[9:12].decode()
    return time.monotonic() - start, status


def measure(port, sender):
    """Returns the times of the uploads beside a sender in a separate process, and all statuses other than 201."""
    process = multiprocessing.Process(target=sender, args=(port,), daemon=True) if sender else None
    if process:
        process.start()
        time.sleep(0.5)
    uploads = []
    for _ in range(COUNT):
        uploads.append(put(port))
        time.sleep(0.02)
    if process:
        process.kill()
        process.join()
    return [time for time, _ in uploads], {status for _, status in uploads if status != '201'}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('blob')
    arguments.add_argument('folder', nargs='?')
    arguments.add_argument('--only', default='', help='senders with this word in their name')
    options = arguments.parse_args()
    program = os.path.join(os.path.dirname(os.path.abspath(options.blob)), 'blob-receive')
    print(f'{"beside":34}{"median ms":>11}{"longest ms":>12}   load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores')
    failed = False
    for name, sender in SENDERS.items():
        if options.only not in name:
            continue
        with receiver(program, options.folder) as port:
            times, others = measure(port, sender)
        failed = failed or others != ({'503'} if name == BEYOND else set()) or max(times) > LIMIT
        print(f'{name:34}{statistics.median(times) * 1000:11.1f}{max(times) * 1000:12.1f}'
              + (f'   answers {", ".join(sorted(others))}' if others else ''), flush=True)
    with receiver(program, options.folder) as port:
        start = time.monotonic()
        with connect(port) as connection:
            connection.sendall(FORM % len(MANY) + MANY)
            assert read_all(connection).startswith(b'HTTP/1.1 201 ')
        seconds = time.monotonic() - start
    print(f'10,000 parts of one name: {seconds:.2f} s')
    sys.exit(failed or seconds > PARTS_LIMIT)


main()
