#!/usr/bin/env python3
"""Interrupts `blob upload --resumable draft` to a server of NIOResumableUpload at random places, and compares what is
stored with the file.

usage: draft_kills.py BLOB SERVER [--kills N] [--bytes N] [--seed N]   with SERVER the program of Tests/DraftPeer

Half of the interruptions kill the client, and half cut its connection. All bytes pass a proxy that counts them.
"""
import argparse, os, random, signal, socket, subprocess, sys, tempfile
from loopback_proxy import LoopbackProxy

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('server')
parser.add_argument('--kills', type=int, default=50, help='interruptions of each upload (default 50)')
parser.add_argument('--bytes', type=int, default=1 << 30, help='length of the file, in whole MiB (default 1 GiB)')
parser.add_argument('--seed', type=int, default=random.randrange(1 << 32), help='of the random places')
options = parser.parse_args()
random.seed(options.seed)
print(f'seed {options.seed}')
MIB = 1 << 20


class Proxy(LoopbackProxy):
    """Counts the bytes to the server, and interrupts a connection after a number of them."""

    def __init__(self):
        self.count, self.limit, self.interrupt = 0, None, None
        super().__init__()

    def copy(self, source, target, counts):
        try:
            while data := source.recv(1 << 16):
                if counts and self.limit is not None and self.count + len(data) > self.limit:
                    data, self.limit = data[:self.limit - self.count], None
                    target.sendall(data)
                    self.count += len(data)
                    return self.interrupt(source, target)
                target.sendall(data)
                if counts:
                    self.count += len(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            self.cut(source, target)


def run(name, form, folder, path, proxy):
    """Uploads the file until it is stored; returns how many bytes were sent and stored."""
    stored, state = os.path.join(folder, name), os.path.join(folder, f'{name}.state')
    body = ['-F', f'file=@{path}'] if form else [path]
    url = f'http://127.0.0.1:{proxy.port}/{name}'
    command = [options.blob, 'upload', '--progress', 'never', '--resumable', 'draft', '--state', state,
               '--retry', str(options.kills + 1), *body, url]
    start, left = proxy.count, options.kills
    while True:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def arrange():
            proxy.limit = proxy.count + random.randrange(options.bytes // (options.kills + 1)) if left else None

        def interrupt(client, server):
            nonlocal left
            left -= 1
            arrange()
            if random.random() < 0.5:
                process.kill()
            proxy.cut(client, server)

        proxy.interrupt = interrupt
        arrange()
        output, errors = process.communicate(timeout=3600)
        if process.returncode != -signal.SIGKILL:
            break
    if process.returncode != 0:
        sys.exit(f'{name}: blob upload ended with {process.returncode}: {errors}')
    return proxy.count - start, stored, options.kills - left


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'file')
    with open(path, 'wb') as file:
        for _ in range(options.bytes // MIB):
            file.write(random.randbytes(MIB))
    proxy = Proxy()
    server = subprocess.Popen([options.server, folder, f'http://127.0.0.1:{proxy.port}'], stdout=subprocess.PIPE, text=True)
    try:
        proxy.target = int(server.stdout.readline())
        for name, form in ('raw', False), ('form', True):
            sent, stored, kills = run(name, form, folder, path, proxy)
            with open(path, 'rb') as expected, open(stored, 'rb') as found:
                if form:
                    # Behind the head of the part.
                    found.seek(found.read(1000).find(b'\r\n\r\n') + 4)
                while data := expected.read(MIB):
                    if found.read(len(data)) != data:
                        sys.exit(f'{name}: other bytes arrived.')
                rest = found.read()
            if form and not rest.endswith(b'--\r\n') or len(rest) > (200 if form else 0):
                sys.exit(f'{name}: {len(rest)} bytes are behind the file.')
            extra = sent - os.path.getsize(stored)
            print(f'{name}: {kills} interruptions; {os.path.getsize(stored)} bytes stored, {extra} more sent')
            if kills < options.kills or extra > (kills + 1) * MIB:
                sys.exit('There were fewer interruptions, or one cost more than 1 MiB.')
    finally:
        server.kill()
        server.wait()
