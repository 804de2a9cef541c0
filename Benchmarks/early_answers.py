#!/usr/bin/env python3
"""Counts how often `blob upload` and curl see a refusal over TLS that a reset follows, in turn in one run.

usage: Benchmarks/early_answers.py BLOB [--runs N]

The server answers 413 after a megabyte and closes the connection, so that its system resets it.
"""
import argparse, os, shutil, socket, ssl, subprocess, sys, tempfile, threading

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--runs', type=int, default=100, help='uploads of each (default 100)')
options = parser.parse_args()
blob, curl = os.path.abspath(options.blob), shutil.which('curl')
certificates = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../Tests/HTTPTestSupport/Certificates')
authority = os.path.join(certificates, 'authority.pem')
if not curl:
    sys.exit('This needs curl.')
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(os.path.join(certificates, 'server.pem'))


def refuse(connection):
    try:
        with tls.wrap_socket(connection, server_side=True) as connection:
            count = 0
            while count < 1_000_000:
                data = connection.recv(65536)
                if not data:
                    return
                count += len(data)
            connection.sendall(b'HTTP/1.1 413 Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    except OSError:
        pass


def accept(listener):
    while True:
        threading.Thread(target=refuse, args=(listener.accept()[0],), daemon=True).start()


def output(*words):
    return subprocess.run(words, capture_output=True, text=True)


listener = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=accept, args=(listener,), daemon=True).start()
url = f'https://localhost:{listener.getsockname()[1]}/x'
seen = {'blob upload': 0, 'curl -T': 0}
with tempfile.NamedTemporaryFile() as file:
    file.write(os.urandom(60 << 20))
    file.flush()
    for _ in range(options.runs):
        errors = output(blob, 'upload', '--progress', 'never', '--cacert', authority, file.name, url).stderr
        seen['blob upload'] += 'answered 413' in errors
        status = output(
            curl, '-s', '-H', 'Expect:', '--cacert', authority, '-T', file.name, url, '-w', '%{http_code}').stdout
        seen['curl -T'] += status.endswith('413')
for name, count in seen.items():
    print(f'{name:12} saw {count} of {options.runs} early refusals over TLS')
