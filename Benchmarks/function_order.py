#!/usr/bin/env python3
"""Lists the functions that common uses of `blob` call, in their order, for the linker: so that they lie together.

usage: Benchmarks/function_order.py BLOB > Sources/blob/functions.order   with valgrind

The system maps 16 pages of a program where one is touched: what is used lies together, which saves memory and time.
"""
import sys
sys.path.pop(0)  # This folder has a file of the name of the module `http`.
import gzip, http.server, os, re, subprocess, tempfile, threading, zipfile

if len(sys.argv) != 2:
    sys.exit(__doc__)


class Sink(http.server.BaseHTTPRequestHandler):
    """Takes any body, and serves one."""
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.answer(b'text\n' * 100)

    def do_PUT(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.answer(b'')

    do_HEAD, do_POST = do_GET, do_PUT

    def answer(self, body):
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Sink)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f'http://127.0.0.1:{server.server_port}/x'
with tempfile.TemporaryDirectory() as folder:
    blob, file = os.path.join(folder, 'blob'), os.path.join(folder, 'file')
    subprocess.run(['strip', '--strip-debug', '-o', blob, sys.argv[1]], check=True)
    with open(file, 'wb') as output:
        output.write(os.urandom(3 << 20))
    os.mkdir(f'{file}s')
    for number in range(100):
        with open(f'{file}s/{number}', 'wb') as output:
            output.write(os.urandom(4096))
    with gzip.open(f'{file}.gz', 'wb') as output:
        output.write(b'a line\n' * 300_000)
    with zipfile.ZipFile(f'{file}.zip', 'w', zipfile.ZIP_DEFLATED) as output:
        output.write(file, 'member')
    subprocess.run(['tar', '-czf', f'{file}.tgz', '-C', folder, 'file'], check=True)
    commands = [
        ['--help'], ['cat', file], ['upload', '--progress', 'never', file, url],
        ['upload', '--progress', 'never', '-F', f'a=@{file}', url], ['sum', file],
        ['upload', '--progress', 'never', '-r', f'{file}s', f'{url}/'], ['cat', f'gzip+{file}.gz'],
        ['cat', url], ['ls', f'{file}.zip'], ['cat', f'{file}.zip#member'], ['ls', f'{file}.tgz'],
        ['cat', f'{file}.tgz#file'], ['info', file], ['form', '-F', f'a=@{file}']]
    names = {}
    for words in commands:
        calls = os.path.join(folder, 'calls')
        subprocess.run(
            ['valgrind', '-q', '--tool=callgrind', '--demangle=no', f'--callgrind-out-file={calls}', blob, *words],
            stdout=subprocess.DEVNULL, check=True)
        for line in open(calls, errors='replace'):
            # Functions of other files, which callgrind names too, are in other objects.
            if match := re.match(r"c?fn=\(\d+\) ([^\s']+)", line):
                names.setdefault(match[1])
    symbols = subprocess.run(['nm', '--defined-only', sys.argv[1]], capture_output=True, text=True, check=True).stdout
    own = {line.split()[2] for line in symbols.splitlines() if line.split()[1] in 'tTwW'}
print('\n'.join(name for name in names if name in own))
