#!/usr/bin/env python3
"""Compares `blob` on URLs with curl, in turn in one run, over nginx on this machine.

usage: Benchmarks/http.py BLOB [--size GIB] [--runs N] [--delay MS] [--folder DIR]

A proxy in this script delays each part of a request, so that a round trip takes MS milliseconds for both programs.
"""
import argparse, os, random, shutil, socket, subprocess, sys, tempfile, time
from measuring import banner, compare

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--size', type=float, default=1, help='GiB of the large file (default 1)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--delay', type=float, default=20, help='milliseconds of a round trip (default 20)')
parser.add_argument('--folder', default=None, help='folder for the files (default: the folder for temporary files)')
options = parser.parse_args()
blob, curl, nginx = os.path.abspath(options.blob), shutil.which('curl'), shutil.which('nginx', path='/usr/sbin:/usr/bin')
certificates = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../Tests/HTTPTestSupport/Certificates')

PROXY = '''
import asyncio, sys
port, delay = int(sys.argv[1]), float(sys.argv[2]) / 1000
async def forward(reader, writer, delay):
    queue, loop = asyncio.Queue(64), asyncio.get_running_loop()
    async def write():
        while True:
            due, data = await queue.get()
            if due > loop.time(): await asyncio.sleep(due - loop.time())
            if not data: break
            writer.write(data)
            await writer.drain()
        writer.close()
    task = asyncio.create_task(write())
    try:
        while data := await reader.read(1 << 20): await queue.put((loop.time() + delay, data))
        await queue.put((0, b''))
        await task
    except ConnectionError:
        task.cancel()
        writer.close()
async def serve(reader, writer):
    try:
        upstream, downstream = await asyncio.open_connection('127.0.0.1', port, limit=1 << 20)
    except OSError:
        return writer.close()
    await asyncio.gather(forward(reader, downstream, delay), forward(upstream, writer, 0))
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
'''


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def start_nginx(folder):
    plain, tls = free_port(), free_port()
    paths = ' '.join(f'{name}_temp_path {folder}/{name};' for name in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    with open(f'{folder}/nginx.conf', 'w') as file:
        file.write(f'''daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
            events {{ worker_connections 1024; }}
            http {{ access_log off; sendfile on; keepalive_requests 100000; {paths}
              server {{ listen 127.0.0.1:{plain}; root {folder}/files; }}
              server {{ listen 127.0.0.1:{tls} ssl; root {folder}/files; ssl_certificate {certificates}/server.pem;
                ssl_certificate_key {certificates}/server.pem; }} }}''')
    process = subprocess.Popen([nginx, '-p', folder, '-c', f'{folder}/nginx.conf'])
    for port in (plain, tls):
        for _ in range(200):
            with socket.socket() as attempt:
                if attempt.connect_ex(('127.0.0.1', port)) == 0:
                    break
            time.sleep(0.05)
    return process, plain, tls


if not curl or not nginx:
    sys.exit('This needs curl and nginx.')
banner('URLs', blob, options)
processes = []
with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    try:
        os.makedirs(f'{folder}/files/small')
        byte_count = int(options.size * 1024) << 20
        piece = os.urandom(1 << 20)
        with open(f'{folder}/files/large', 'wb') as file:
            for number in range(byte_count >> 20):
                file.write(number.to_bytes(8, 'little') + piece[8:])
        for number in range(300):
            with open(f'{folder}/files/small/{number}', 'wb') as file:
                file.write(piece[number:number + 4000])
        server, plain, tls = start_nginx(folder)
        processes.append(server)
        url = f'http://127.0.0.1:{plain}/large'
        compare(f'{options.size} GiB over loopback', [
            ('blob cat', [blob, 'cat', url]), ('curl -s', [curl, '-s', url])], 'wall <= 1.05', runs=options.runs)

        def delayed_port(port):
            proxy = subprocess.Popen([sys.executable, '-c', PROXY, str(port), str(options.delay)], stdout=subprocess.PIPE)
            processes.append(proxy)
            return int(proxy.stdout.readline())

        delayed = f'http://127.0.0.1:{delayed_port(plain)}/large'
        compare(f'{options.size} GiB, a round trip of {options.delay:g} ms', [
            ('blob cat', [blob, 'cat', delayed]), ('curl -s', [curl, '-s', delayed])], 'wall <= 1.05',
            runs=options.runs, memory=False)
        order = random.Random(14)
        with open(f'{folder}/ranges', 'w') as file:
            file.writelines(f'{order.randrange(byte_count - 65536)} 65536\n' for _ in range(1000))
        ideal = options.delay
        medians = compare(f'1,000 reads of 64 KiB, a round trip of {options.delay:g} ms', [
            ('blob cat --ranges', [blob, 'cat', delayed, '--ranges', f'{folder}/ranges'])],
            f'{ideal * 1.1:g} ms each', runs=min(options.runs, 3), memory=False)
        print(f'  {medians["blob cat --ranges"]:.2f} ms each, {medians["blob cat --ranges"] / ideal:.2f} round trips')

        authority = f'{certificates}/authority.pem'
        for port, delay in (tls, ''), (delayed_port(tls), f', a round trip of {options.delay:g} ms'):
            urls = [f'https://127.0.0.1:{port}/small/{number}' for number in range(300)]
            with open(f'{folder}/list', 'w') as file:
                file.writelines(f'{url}\n' for url in urls)
            with open(f'{folder}/curl', 'w') as file:
                file.writelines(f'url = "{url}"\noutput = "-"\n' for url in urls)
            compare(f'300 files of 4,000 bytes over TLS{delay}', [
                ('blob cat --from-file', [
                    blob, 'cat', '--allow-network-in-lists', '--from-file', f'{folder}/list', '--ca-file', authority]),
                ('curl with 300 URLs', [curl, '-s', '--cacert', authority, '-K', f'{folder}/curl'])], 'wall <= 1.3',
                runs=options.runs)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
