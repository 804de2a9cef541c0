#!/usr/bin/env python3
"""Compares large uploads by `blob` and by curl to a sink on this machine, in turn in one run.

usage: Benchmarks/bodies.py BLOB [--size GIB] [--runs N] [--folder DIR]
"""
import argparse, os, shutil, subprocess, sys, tempfile
from measuring import banner, compare, run, tool

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--size', type=float, default=1, help='GiB of the file (default 1)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default='/dev/shm', help='folder for the file (default /dev/shm)')
options = parser.parse_args()
blob, curl, igzip = os.path.abspath(options.blob), shutil.which('curl'), tool('igzip')

# Reads and discards bodies, either with a length or chunked.
SINK = '''
import re, socket, threading
def serve(connection):
    buffer, view = bytearray(1 << 20), None
    view = memoryview(buffer)
    while True:
        head = b''
        while b'\\r\\n\\r\\n' not in head:
            data = connection.recv(65536)
            if not data: return connection.close()
            head += data
        head, _, body = head.partition(b'\\r\\n\\r\\n')
        if b'100-continue' in head: connection.sendall(b'HTTP/1.1 100 Continue\\r\\n\\r\\n')
        length = re.search(rb'(?i)content-length: *(\\d+)', head)
        if length:
            left = int(length[1]) - len(body)
            while left > 0:
                left -= connection.recv_into(view, min(left, len(buffer))) or exit('cut off')
        else:
            tail = body[-5:]
            while tail != b'0\\r\\n\\r\\n':
                count = connection.recv_into(view) or exit('cut off')
                tail = (tail + bytes(view[max(0, count - 5):count]))[-5:]
        connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
'''

if not curl:
    sys.exit('This needs curl.')
banner('uploads', blob, options)
sink = subprocess.Popen([sys.executable, '-c', SINK], stdout=subprocess.PIPE)
try:
    url = f'http://127.0.0.1:{int(sink.stdout.readline())}/x'
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, 'file')
        piece = os.urandom(1 << 20)
        with open(path, 'wb') as file:
            for number in range(int(options.size * 1024)):
                file.write(number.to_bytes(8, 'little') + piece[8:])
        compare(f'{options.size:g} GiB as it is', [
            ('blob upload', [blob, 'upload', '--progress', 'never', path, url]), ('curl -T', [curl, '-sT', path, url])],
            'wall <= 1.05, 20 MiB', runs=options.runs)
        compare(f'{options.size:g} GiB in a form', [
            ('blob upload -F', [blob, 'upload', '--progress', 'never', '-F', f'a=@{path}', url]),
            ('curl -F', [curl, '-s', '-F', f'a=@{path}', url])], 'wall <= 1.05, 20 MiB', runs=options.runs)
        if igzip:
            packed = os.path.join(folder, 'file.gz')
            # Text that compresses well, so that decoding is most of the work.
            with open(path, 'wb') as file:
                for number in range(int(options.size * 1024)):
                    file.write((b'%020d,%040x\n' % (number, number)) * (1 << 14))
            subprocess.run([igzip, '-q', '-c', path], stdout=open(packed, 'wb'), check=True)
            compare(f'{os.path.getsize(path) / 2**30:.2f} GiB out of a gzip', [
                ('blob upload', [blob, 'upload', '--progress', 'never', f'gzip+file://{packed}', url]),
                ('igzip | curl', ['/bin/sh', '-c', f'{igzip} -dc {packed} | {curl} -sT - {url}'])],
                'wall <= 0.6', runs=options.runs, memory=False)
finally:
    sink.kill()
