#!/usr/bin/env python3
"""Compares `blob upload` of many files with curl, in turn in one run, to nginx on this machine.

usage: Benchmarks/upload.py BLOB [--files N] [--runs N] [--folder DIR]

nginx needs its dav module, which Debian's package includes.
"""
import argparse, itertools, os, shutil, socket, subprocess, sys, tempfile, time
from pathlib import Path
from measuring import banner, compare, peak_memory

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--files', type=int, default=10_000, help='files of 4 KiB in clear text (default 10000)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the files (default: the folder for temporary files)')
options = parser.parse_args()
blob, curl, nginx = os.path.abspath(options.blob), shutil.which('curl'), shutil.which('nginx', path='/usr/sbin:/usr/bin')
certificates = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../Tests/HTTPTestSupport/Certificates')


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def start_nginx(folder):
    plain, tls = free_port(), free_port()
    paths = ' '.join(f'{name}_temp_path {folder}/{name};' for name in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    put = f'root {folder}/stored; location / {{ dav_methods PUT; create_full_put_path on; }}'
    with open(f'{folder}/nginx.conf', 'w') as file:
        file.write(f'''daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
            events {{ worker_connections 1024; }}
            http {{ access_log off; client_max_body_size 0; keepalive_requests 100000; {paths}
              server {{ listen 127.0.0.1:{plain}; {put} }}
              server {{ listen 127.0.0.1:{tls} ssl; {put} ssl_certificate {certificates}/server.pem;
                ssl_certificate_key {certificates}/server.pem; }} }}''')
    process = subprocess.Popen([nginx, '-p', folder, '-c', f'{folder}/nginx.conf'])
    for port in (plain, tls):
        for _ in range(200):
            with socket.socket() as attempt:
                if attempt.connect_ex(('127.0.0.1', port)) == 0:
                    break
            time.sleep(0.05)
    return process, plain, tls


def peak_threads(command):
    """Returns the largest number of threads observed; None if the system does not report it."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    count = None
    while process.poll() is None:
        try:
            lines = Path(f'/proc/{process.pid}/status').read_text().splitlines()
        except OSError:
            break
        count = max([count or 0] + [int(line.split()[1]) for line in lines if line.startswith('Threads:')])
        time.sleep(0.005)
    process.wait()
    return count


if not curl or not nginx:
    sys.exit('This needs curl and nginx.')
numbers = itertools.count()
banner('uploads of many files', blob, options)
with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    os.makedirs(f'{folder}/stored')
    server, plain, tls = start_nginx(folder)
    try:
        authority = f'{certificates}/authority.pem'
        for count, size, jobs, base, goal, memory in (
            (options.files, 4096, 50, f'http://127.0.0.1:{plain}/', 'wall <= 1.2', 64),
            (300, 4096, 50, f'https://127.0.0.1:{tls}/', 'wall <= 1.3', 64),
            (200, 10 << 20, 200, f'http://127.0.0.1:{plain}/', '', 128)):
            files = f'{folder}/files'
            os.makedirs(files)
            for number in range(count):
                Path(files, str(number)).write_bytes(os.urandom(size))
            with open(f'{folder}/curl', 'w') as file:
                file.writelines(
                    f'upload-file = "{files}/{number}"\nurl = "{base}curl/{number}"\noutput = "/dev/null"\n'
                    for number in range(count))
            ours = [blob, 'upload', '--jobs', str(jobs), '-r', f'{files}/', f'{base}blob/', '--cacert', authority]
            peer = [curl, '-s', '-S', '--no-progress-meter', '-Z', '--parallel-max', str(jobs), '--cacert', authority,
                    '-K', f'{folder}/curl']

            def clear(_):
                # Moved instead of removed: recently freed inodes would slow down the server's file system, and with it
                # both clients, several times.
                os.rename(f'{folder}/stored', f'{folder}/stored.{next(numbers)}')
                os.makedirs(f'{folder}/stored')

            name = f'{count} files of {size // 1024} KiB' + (' over TLS' if base.startswith('https') else '')
            compare(name, [(f'blob upload -r --jobs {jobs}', ours), (f'curl -Z --parallel-max {jobs}', peer)], goal,
                    runs=options.runs, before=clear, memory=False)
            clear('')
            print(f'  peak memory of blob: {peak_memory(ours):.0f} MiB (goal: {memory})')
            for number in range(count):
                if Path(files, str(number)).read_bytes() != Path(folder, 'stored/blob', str(number)).read_bytes():
                    sys.exit(f'{number} arrived with other bytes.')
            print(f'  all {count} files arrived')
            clear('')
            print(f'  threads of blob: {peak_threads(ours)} (goal: 16)')
            shutil.rmtree(files)
            for old in Path(folder).glob('stored.*'):
                shutil.rmtree(old)
    finally:
        server.terminate()
        server.wait()
