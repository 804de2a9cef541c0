#!/usr/bin/env python3
"""Counts how often `blob upload` and curl receive an error response over TLS before a reset, in turn in one run.

usage: Benchmarks/early_answers.py BLOB [--runs N]

The server answers 413 after a megabyte and closes the connection, so that its system resets the connection. As root,
the script also inspects the packets: an upload counts as reached if its answer was delivered before the reset.
"""
import argparse, os, shutil, socket, ssl, struct, subprocess, sys, tempfile, threading

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
ANSWER = b'HTTP/1.1 413 Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
RECORD = len(ANSWER) + 22  # A TLS 1.3 record adds a 5-byte header, the type, and a 16-byte tag (RFC 8446, 5.2).


class Packets:
    """Records, from packets on the loopback interface, which clients received the answer before a reset."""

    def __init__(self, port):
        self.port, self.reached, self.reset = port, set(), set()
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        except PermissionError:
            self.socket = None
            return
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        self.socket.bind(('lo', 0x0800))
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        while True:
            data, address = self.socket.recvfrom(128)
            if address[2] == socket.PACKET_OUTGOING:
                continue  # The loopback interface reports each packet twice.
            head = (data[0] & 15) * 4
            source, client = struct.unpack_from('!HH', data, head)
            if source != self.port:
                continue
            if data[head + 13] & 4:
                self.reset.add(client)
            elif int.from_bytes(data[2:4], 'big') - head - (data[head + 12] >> 4) * 4 == RECORD:
                if client not in self.reset:
                    self.reached.add(client)


def refuse(connection):
    try:
        with tls.wrap_socket(connection, server_side=True) as connection:
            count = 0
            while count < 1_000_000:
                data = connection.recv(65536)
                if not data:
                    return
                count += len(data)
            connection.sendall(ANSWER)
    except OSError:
        pass


def accept(listener):
    while True:
        connection, (_, port) = listener.accept()
        clients[port] = asking
        threading.Thread(target=refuse, args=(connection,), daemon=True).start()


def output(*words):
    return subprocess.run(words, capture_output=True, text=True)


listener = socket.create_server(('127.0.0.1', 0))
packets = Packets(listener.getsockname()[1])
threading.Thread(target=accept, args=(listener,), daemon=True).start()
url = f'https://localhost:{listener.getsockname()[1]}/x'
asking, clients = '', {}
seen = {'blob upload': 0, 'curl -T': 0}
with tempfile.NamedTemporaryFile() as file:
    file.write(os.urandom(60 << 20))
    file.flush()
    for _ in range(options.runs):
        asking = 'blob upload'
        errors = output(blob, 'upload', '--progress', 'never', '--cacert', authority, file.name, url).stderr
        seen[asking] += 'answered 413' in errors
        asking = 'curl -T'
        status = output(
            curl, '-s', '-H', 'Expect:', '--cacert', authority, '-T', file.name, url, '-w', '%{http_code}').stdout
        seen[asking] += status.endswith('413')
for name in seen:
    reached = sum(clients.get(port) == name for port in packets.reached)
    whole = f'; {reached} reached the socket before the reset' if packets.socket else ''
    print(f'{name:12} saw {seen[name]} of {options.runs} early refusals over TLS{whole}')
