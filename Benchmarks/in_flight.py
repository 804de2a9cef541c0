#!/usr/bin/env python3
"""Compares `blob` with obstore, fsspec, curl and aria2c on many requests in flight and on slow connections, in one run.

usage: Benchmarks/in_flight.py BLOB [--runs N] [--delay MS] [--rate BYTES]

The server, in Python, answers each request after a delay, and limits the bytes per second of each connection. Peers
that are not installed are omitted: `pip install obstore fsspec aiohttp`, `apt-get install aria2`.
"""
import argparse, os, random, subprocess, sys, tempfile, zipfile
from measuring import banner, compare, has_module, tool

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--delay', type=float, default=20, help='milliseconds before each answer (default 20)')
parser.add_argument('--rate', type=float, default=20e6, help='bytes per second of a connection (default 20 million)')
options = parser.parse_args()
blob = os.path.abspath(options.blob)

SERVER = '''
import asyncio, re, sys
count, delay, rate = int(sys.argv[1]), float(sys.argv[2]) / 1000, float(sys.argv[3])
content = memoryview(open(sys.argv[4], "rb").read() if sys.argv[4:] else
                     bytes(i * 2654435761 >> 8 & 255 for i in range(65536)) * (count >> 16))
sent = [0, 0]
async def serve(reader, writer):
    loop = asyncio.get_running_loop()
    try:
        while head := (await reader.readuntil(b"\\r\\n\\r\\n")).decode("latin1"):
            method, path = head.split()[:2]
            await asyncio.sleep(delay)
            if path == "/sent":
                text = b"%d %d" % tuple(sent)
                writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(text), text))
                continue
            body = content[:4096] if "small" in path else content
            match = re.search(r"(?i)\\r\\nrange: bytes=(\\d+)-(\\d*)", head)
            start, end = (int(match[1]), min(len(body), int(match[2] or len(body)) + 1)) if match else (0, len(body))
            range_line = f"Content-Range: bytes {start}-{end - 1}/{len(body)}\\r\\n" if match else ""
            writer.write((f"HTTP/1.1 {206 if match else 200} OK\\r\\nAccept-Ranges: bytes\\r\\n{range_line}ETag: \\"1\\"\\r\\n"
                          "Last-Modified: Wed, 01 Oct 2025 10:00:00 GMT\\r\\n"
                          f"Content-Length: {end - start}\\r\\n\\r\\n").encode())
            if method == "HEAD":
                continue
            sent[0] += 1
            sent[1] += end - start
            begin, step = loop.time(), 65536 if rate else 1 << 20
            for place in range(start, end, step):
                writer.write(body[place:min(place + step, end)])
                await writer.drain()
                due = begin + (place + step - start) / rate if rate else 0
                if due > loop.time(): await asyncio.sleep(due - loop.time())
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
'''

# Reads the ranges listed in a file, one per line, in the format of `blob cat --ranges`.
OBSTORE = '''
import sys, obstore
from obstore.store import HTTPStore
store = HTTPStore.from_url(sys.argv[1], client_options={"allow_http": True})
ranges = [tuple(map(int, line.split())) for line in open(sys.argv[2])]
parts = obstore.get_ranges(store, "large", starts=[a for a, _ in ranges], lengths=[n for _, n in ranges])
for part in parts: sys.stdout.buffer.write(part)
'''
FSSPEC = '''
import sys, fsspec
ranges = [tuple(map(int, line.split())) for line in open(sys.argv[2])]
files = fsspec.filesystem("http")
parts = files.cat_ranges([sys.argv[1] + "large"] * len(ranges), [a for a, _ in ranges], [a + n for a, n in ranges])
for part in parts: sys.stdout.buffer.write(part)
'''
ZIPFILE = '''
import sys, fsspec, zipfile
with zipfile.ZipFile(fsspec.open(sys.argv[1] + "archive").open()) as archive:
    for name in sys.argv[2:]: sys.stdout.buffer.write(archive.read(name))
'''


def start_server(count, rate, *path):
    server = subprocess.Popen([sys.executable, '-c', SERVER, str(count), str(options.delay), str(rate), *path],
                              stdout=subprocess.PIPE)
    return server, f'http://127.0.0.1:{int(server.stdout.readline())}/'


def sent(url):
    """Returns the number of requests that the server answered, and the bytes of its answers."""
    return map(int, subprocess.check_output([tool('curl'), '-s', f'{url}sent']).split())


banner('Requests in flight', blob, options)
with tempfile.TemporaryDirectory() as folder:
    quick, url = start_server(256 << 20, 0)
    slow, slow_url = start_server(256 << 20, options.rate)
    servers = [quick, slow]
    try:
        order = random.Random(14)
        with open(f'{folder}/ranges', 'w') as file:
            file.writelines(f'{order.randrange((256 << 20) - 65536)} 65536\n' for _ in range(1000))
        compare(f'1,000 ranges of 64 KiB, {options.delay:g} ms each', [
            ('blob cat --ranges', [blob, 'cat', f'{url}large', '--ranges', f'{folder}/ranges']),
            ('obstore', has_module('obstore') and [sys.executable, '-c', OBSTORE, url, f'{folder}/ranges']),
            ('fsspec', has_module('aiohttp') and [sys.executable, '-c', FSSPEC, url, f'{folder}/ranges'])],
            'wall <= 0.9', runs=options.runs)
        _, before = sent(url)
        subprocess.run([blob, 'cat', f'{url}large', '--ranges', f'{folder}/ranges'], stdout=subprocess.DEVNULL)
        _, after = sent(url)
        print(f'  {(after - before) / (1000 << 16):.2f} of the bytes were sent')

        urls = [f'{url}small{number}' for number in range(300)]
        with open(f'{folder}/curl', 'w') as file:
            file.writelines(f'url = "{url}"\noutput = "/dev/null"\n' for url in urls)
        for command in 'cat', 'sum', 'info':
            compare(f'300 URLs of 4 KiB, {options.delay:g} ms each', [
                (f'blob {command}', [blob, command, *urls]),
                ('curl -Z', [tool('curl'), '-sZ', '--no-progress-meter', '--parallel-max', '50', '-K', f'{folder}/curl'])],
                'wall <= 1.2', runs=options.runs)

        with zipfile.ZipFile(f'{folder}/archive', 'w', zipfile.ZIP_DEFLATED) as archive:
            for number in range(2000):
                archive.writestr(f'{number % 20:02}/{number}', order.randbytes(order.randrange(20_000, 60_000)))
        server, archive_url = start_server(0, 0, f'{folder}/archive')
        servers.append(server)
        names = order.sample(archive.namelist(), 100)
        members = [f'{archive_url}archive#{name}' for name in names]
        compare(f'100 of 2,000 members of a zip, {options.delay:g} ms each', [
            ('blob cat', [blob, 'cat', *members]),
            ('zipfile, fsspec', has_module('aiohttp') and [sys.executable, '-c', ZIPFILE, archive_url, *names])],
            'wall', runs=options.runs)
        before, _ = sent(archive_url)
        subprocess.run([blob, 'cat', *members], stdout=subprocess.DEVNULL)
        print(f'  {next(sent(archive_url)) - before} requests')

        target = f'{folder}/large'

        def remove(name):
            for suffix in '', '.aria2':
                if os.path.exists(target + suffix):
                    os.remove(target + suffix)

        for count in 4, 8:
            compare(f'256 MiB by {count} connections, {options.rate / 1e6:g} MB/s for each', [
                ('blob fetch', [blob, 'fetch', '-q', '--connections', str(count), '-o', target, f'{slow_url}large']),
                (f'aria2c -x{count}', tool('aria2c') and [
                    tool('aria2c'), '-q', f'-x{count}', f'-s{count}', '-k1M', '-d', folder, '-o', 'large',
                    f'{slow_url}large']),
                *([('blob cat', [blob, 'cat', f'{slow_url}large']),
                   ('curl', [tool('curl'), '-s', '-o', target, f'{slow_url}large'])] if count == 4 else [])],
                'wall <= 1.05 of aria2c', runs=options.runs, before=remove)
    finally:
        for server in servers:
            server.terminate()
            server.wait()
