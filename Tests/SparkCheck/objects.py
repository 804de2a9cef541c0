"""A server of sources and a store of objects on the loopback interface: python3 objects.py SEED COUNT BYTES.

GET /source/N is the bytes of source N, or a range of them, and that of /changing/N has another ETag each time. PUT
/objects/KEY takes an object, if it is whole, with If-None-Match; HEAD tells its length and its Repr-Digest. GET /state is
what is there: the objects with digest, bytes and the times each was put.
GET /count/N is their number, told when it is N, or after a second; GET /reads/N that of the sources that were read.
The process prints its port, and ends with its standard input.
"""

import base64
import hashlib
import http.server
import itertools
import json
import os
import random
import re
import sys
import threading


def sizes(seed, count, total):
    """Returns about so many bytes in so many blobs: most are small, and the largest about 2 % of everything."""
    choice = random.Random(seed)
    raw = [min(choice.paretovariate(1) - 1, count / 5) for _ in range(count)]
    return [int(one * total / sum(raw)) for one in raw]


def content(seed, number, size):
    return random.Random(seed * 1_000_003 + number).randbytes(size)


ENDED = threading.Event()
CHANGES = itertools.count()


class Store:
    def __init__(self):
        self.lock = threading.Condition()
        self.objects = {}  # The digest, the bytes and the number of PUTs of each key.
        self.reads = {}  # The number of answers with bytes of each source.
        self.cut = self.refused = self.repeated_bytes = self.conflicts = 0

    def put(self, key, body, only_new):
        digest = hashlib.sha256(body).hexdigest()
        with self.lock:
            found = self.objects.get(key)
            if found and only_new:
                found[2] += 1
                self.refused += 1
                self.repeated_bytes += len(body)
                return False
            self.conflicts += bool(found and found[0] != digest)
            self.objects[key] = [digest, len(body), found[2] + 1 if found else 1]
            self.lock.notify_all()
            return True

    def note_read(self, number):
        with self.lock:
            self.reads[number] = self.reads.get(number, 0) + 1
            self.lock.notify_all()

    def count(self, kind, wanted):
        """Returns the number of objects or of sources that were read, when it is what is wanted or a second has passed."""
        found = {"count": self.objects, "reads": self.reads}[kind]
        with self.lock:
            self.lock.wait_for(lambda: len(found) >= wanted, timeout=1)
            return len(found)

    def state(self):
        with self.lock:
            return json.dumps({name: one for name, one in vars(self).items() if name != "lock"})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer_source(self, number, tag):
        size = SIZES[number]
        bounds = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if self.headers.get("If-Match", tag) != tag:
            return self.answer(412)
        if not bounds or self.headers.get("If-Range", tag) != tag:
            self.answer(200, content(SEED, number, size), etag=tag, accept_ranges="bytes")
        elif (start := int(bounds[1])) >= size:
            return self.answer(416, content_range=f"bytes */{size}")
        else:
            end = min(size, int(bounds[2] or size) + 1)
            span = f"bytes {start}-{end - 1}/{size}"
            self.answer(206, content(SEED, number, size)[start:end], etag=tag, content_range=span)
        if self.command == "GET":
            STORE.note_read(number)

    def answer(self, status, body=b"", **fields):
        """In one write: a second one would wait for the other side's delayed acknowledgement."""
        fields.setdefault("content_length", len(body))
        head = [f"HTTP/1.1 {status} -", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
        if self.command == "HEAD":
            body = b""
        self.wfile.write("\r\n".join([*head, "", ""]).encode() + body)

    def do_GET(self):
        kind, _, name = self.path[1:].partition("/")
        if kind in ("source", "changing") and name.isdecimal() and int(name) < len(SIZES):
            self.answer_source(int(name), f'"{name}"' if kind == "source" else f'"{next(CHANGES)}"')
        elif kind == "state":
            self.answer(200, STORE.state().encode())
        elif kind in ("count", "reads"):
            self.answer(200, str(STORE.count(kind, int(name))).encode())
        else:
            self.answer(404)

    def do_HEAD(self):
        kind, _, key = self.path[1:].partition("/")
        found = STORE.objects.get(key)
        if kind != "objects":
            self.do_GET()
        elif found:
            digest = base64.b64encode(bytes.fromhex(found[0])).decode()
            self.answer(200, content_length=found[1], repr_digest=f"sha-256=:{digest}:")
        else:
            self.answer(404)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) < int(self.headers["Content-Length"]):
            STORE.cut += 1
            self.close_connection = True
            return
        ENDED.wait(DELAY)  # As a slow server, until it is told to end.
        is_new = STORE.put(self.path.rpartition("/")[2], body, self.headers.get("If-None-Match") == "*")
        self.answer(201 if is_new else 412)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):
        """Silent about connections that a kill has cut."""


if __name__ == "__main__":
    SEED, count, total = map(int, sys.argv[1:4])
    SIZES, STORE, DELAY = sizes(SEED, count, total), Store(), float(sys.argv[4]) if len(sys.argv) > 4 else 0
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    ENDED.set()
    os._exit(0)
