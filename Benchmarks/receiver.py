#!/usr/bin/env python3
"""The latency of small uploads beside one hostile sender each, and the time of 10,000 parts of one name.

Usage: receiver.py BLOB [FOLDER]: the command, beside blob-receive; the folder in which to store, a temporary one by
default. The status is 1 if an upload took longer than 100 ms.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

PART = b'--B\r\nContent-Disposition: form-data; name="f"; filename="same"\r\n\r\nx\r\n'
HEAD = b"PUT /x HTTP/1.1\r\nHost: a\r\n"
LIMIT = 0.1
SECONDS = 2


def connect(port):
    return socket.create_connection(("127.0.0.1", port))


def read_all(connection):
    answer = b""
    while piece := connection.recv(1 << 20):
        answer += piece
    return answer


def send_for_ever(port, pieces, is_done):
    """Sends the pieces again and again, on a new connection after each end."""
    while not is_done():
        with connect(port) as connection:
            connection.settimeout(0.2)
            try:
                for piece in pieces():
                    if is_done():
                        return
                    connection.sendall(piece)
                connection.settimeout(30)
                read_all(connection)
            except OSError:
                pass


def endless(first, rest):
    def pieces():
        yield first
        while True:
            yield rest

    return pieces


FORM = (
    b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n"
)
MANY = PART * 10_000 + b"--B--\r\n"
SENDERS = {
    "nobody": None,
    "10,000 parts of one name": lambda: [FORM % len(MANY) + MANY],
    "endless header lines": endless(HEAD, b"A: b\r\n" * 1000),
    "an endless header line": endless(HEAD + b"A: ", b"a" * 65536),
    "an endless chunk extension": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 65536),
    "chunks of one byte": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 10_000),
    "a body at full speed": endless(HEAD + b"Content-Length: 60000000000\r\n\r\n", b"a" * 1_000_000),
    "requests without reading answers": endless(b"", b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n" * 1000),
    "a refused body": endless(HEAD + b"Content-Length: 99999999999\r\n\r\n", b"a" * 1_000_000),
}


def put(port):
    start = time.monotonic()
    with connect(port) as connection:
        connection.sendall(HEAD + b"Connection: close\r\nContent-Length: 1\r\n\r\na")
        assert read_all(connection).startswith(b"HTTP/1.1 201 ")
    return time.monotonic() - start


def measure(program, folder, sender):
    arguments = [program, "--directory", folder]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as receiver:
        port = int(receiver.stdout.readline().strip(b"/\n").split(b":")[-1])
        reader = threading.Thread(target=receiver.stdout.readlines, daemon=True)
        reader.start()
        end = time.monotonic() + SECONDS
        threads = [
            threading.Thread(target=send_for_ever, args=(port, sender, lambda: time.monotonic() > end))
        ] if sender else []
        for thread in threads:
            thread.start()
        times = []
        while time.monotonic() < end:
            times.append(put(port))
        for thread in threads:
            thread.join()
        receiver.terminate()
        reader.join()
    return sorted(times)


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "blob-receive")
    worst = 0
    print(f"{'beside':34}{'uploads':>8}{'median ms':>11}{'longest ms':>12}")
    for name, sender in SENDERS.items():
        with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
            times = measure(program, folder, sender)
        worst = max(worst, times[-1])
        print(f"{name:34}{len(times):8}{times[len(times) // 2] * 1000:11.1f}{times[-1] * 1000:12.1f}", flush=True)
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        arguments = [program, "--directory", folder]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as receiver:
            port = int(receiver.stdout.readline().strip(b"/\n").split(b":")[-1])
            reader = threading.Thread(target=receiver.stdout.readlines, daemon=True)
            reader.start()
            start = time.monotonic()
            with connect(port) as connection:
                connection.sendall(FORM % len(MANY) + MANY)
                assert read_all(connection).startswith(b"HTTP/1.1 201 ")
            print(f"10,000 parts of one name: {time.monotonic() - start:.2f} s")
            receiver.terminate()
            reader.join()
    sys.exit(worst > LIMIT)


main()
