#!/usr/bin/env python3
"""Measures the CPU time of `blob cat` on a URL whose server states a digest, compared with a server that does not.

usage: Benchmarks/stated_digests.py BLOB [--size MIB] [--runs N] [--only WORD]

For each algorithm, prints the median of the ratios of neighbouring runs, and the seconds that the digest adds, next to
the seconds of `openssl dgst` for a file with the same bytes. The server is in Python.
"""
import argparse, base64, os, re, statistics, subprocess, sys, tempfile
from measuring import banner, run, tool

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--size', type=int, default=1024, help='MiB of the file (default 1024)')
parser.add_argument('--runs', type=int, default=7, help='counted runs of each command (default 7)')
parser.add_argument('--only', default='', help='run only the fields with this word in their names')
options = parser.parse_args()
blob, openssl = os.path.abspath(options.blob), tool('openssl')

# Serves ranges of a file; the path is the response field to add, in hexadecimal digits.
SERVER = '''
import os, re, socket, sys, threading
path = sys.argv[1]
size = os.path.getsize(path)
def serve(connection):
    file = open(path, "rb")
    head = b""
    while piece := connection.recv(65536):
        head += piece
        while (end := head.find(b"\\r\\n\\r\\n")) >= 0:
            text, head = head[:end + 2].decode("latin1"), head[end + 4:]
            match = re.search(r"(?i)\\r\\nrange: bytes=(\\d+)-(\\d*)", text)
            start, end = (int(match[1]), min(size, int(match[2] or size) + 1)) if match else (0, size)
            lines = ["HTTP/1.1 206 Partial Content" if match else "HTTP/1.1 200 OK", 'ETag: "1"']
            lines += [bytes.fromhex(text.split()[1][1:]).decode()] * (len(text.split()[1]) > 1)
            lines += [f"Content-Range: bytes {start}-{end - 1}/{size}"] * bool(match)
            lines += [f"Content-Length: {end - start}", "", ""]
            try:
                connection.sendall("\\r\\n".join(lines).encode())
                while start < end: start += os.sendfile(connection.fileno(), file.fileno(), start, end - start)
            except OSError:
                return connection.close()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True: threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
'''

# The field, the digest length in bytes, the goal for the CPU ratio, and the name of the algorithm in openssl.
FIELDS = [
    ('x-amz-checksum-crc32:', 4, 1.03, None), ('x-amz-checksum-crc32c:', 4, 1.03, None),
    ('x-amz-checksum-crc64nvme:', 8, 1.05, None), ('Digest:sha-256=', 32, None, 'sha256'),
    ('Digest:sha-512=', 64, None, 'sha512'), ('x-amz-checksum-sha1:', 20, None, 'sha1'),
    ('x-goog-hash:md5=', 16, None, 'md5')]


def stated(url, field, count):
    """Returns the URL of a server that states the correct digest, as computed by `blob`."""
    wrong = url + (field + base64.b64encode(bytes(count)).decode()).encode().hex()
    errors = subprocess.run([blob, 'cat', wrong], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr.decode()
    found = bytes.fromhex(re.search(r' is ([0-9a-f]+), ', errors)[1])
    return url + (field + base64.b64encode(found).decode()).encode().hex()


banner('The CPU time of digests that servers state', blob, options)
with tempfile.TemporaryDirectory() as folder:
    path = f'{folder}/file'
    with open(path, 'wb') as file:
        block = os.urandom(1 << 20)
        for _ in range(options.size): file.write(block)
    server = subprocess.Popen([sys.executable, '-c', SERVER, path], stdout=subprocess.PIPE)
    try:
        url = f'http://127.0.0.1:{int(server.stdout.readline())}/'
        for field, count, goal, algorithm in FIELDS:
            if options.only not in field:
                continue
            commands = [[blob, 'cat', stated(url, field, count)], [blob, 'cat', url]]
            if algorithm and openssl:
                commands.append([openssl, 'dgst', f'-{algorithm}', path])
            times = [[run(command)[1] for command in commands] for _ in range(options.runs + 1)][1:]
            ratio = statistics.median(row[0] / row[1] for row in times)
            added = statistics.median(row[0] - row[1] for row in times)
            text = f'  {field:<28} cpu {ratio:>6.3f} of none' + (f', goal {goal}' if goal else '')
            if len(commands) > 2:
                text += f', adds {added:.3f} s; openssl dgst {statistics.median(row[2] for row in times):.3f} s'
            print(text, flush=True)
    finally:
        server.terminate()
        server.wait()
