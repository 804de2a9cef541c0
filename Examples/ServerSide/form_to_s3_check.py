#!/usr/bin/env python3
"""Sends a long form, which is made on the fly, to FormToS3, and checks the objects, its answer and its memory.

usage: form_to_s3_check.py FORM_TO_S3 [--gib N] [--moto]

The store is a server in this process that compares the lengths and digests of all requests, and stores no bytes. A short
file, one of two parts and one of N GiB (10 by default) are sent in one form. A second form breaks off in its second part
and must leave neither an object nor parts. Prints the rate of the first form and the peak memory of FormToS3, and fails
if it is more than 192 MiB. With --moto, the store is the server of moto (`pip install 'moto[s3,server]'`), which keeps
all bytes in memory, and the objects are read back.
"""
import argparse, base64, hashlib, http.server, json, logging, os, re, socket, subprocess, sys, threading, time
import urllib.parse, urllib.request

PART = 16 << 20  # The default of S3Uploader.
MAXIMUM_MEMORY = 192 << 20  # Twelve parts; about seven are used.
BLOCK = 1 << 20
BOUNDARY = 'form-to-s3-check'

parser = argparse.ArgumentParser()
parser.add_argument('program')
parser.add_argument('--gib', type=float, default=10, help='length of the long file (default 10 GiB)')
parser.add_argument('--moto', action='store_true', help='store in the server of moto')
options = parser.parse_args()


class Sink(http.server.BaseHTTPRequestHandler):
    """A store that compares digests and stores nothing."""
    protocol_version = 'HTTP/1.1'
    uploads = {}  # The keys, the tags and the digest of the bytes of each multipart upload.
    objects = {}  # The length and the digest of each object, by its key.
    lock = threading.Lock()
    aborted = threading.Event()

    def log_message(self, *arguments):
        pass

    def answer(self, status, text='', **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def body(self, whole):
        """Reads the body into `whole` as well, and returns its length and MD5; None if a digest is wrong."""
        rest = length = int(self.headers['Content-Length'] or 0)
        sha256, md5 = hashlib.sha256(), hashlib.md5()
        while rest:
            piece = self.rfile.read(min(rest, BLOCK))
            if not piece:
                return None
            rest -= len(piece)
            for digest in (sha256, md5, whole):
                digest.update(piece)
        stated = self.headers['Content-MD5']
        if sha256.hexdigest() != self.headers['x-amz-content-sha256'] or \
                stated and base64.b64decode(stated) != md5.digest():
            return None
        return length, md5

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        text = self.rfile.read(int(self.headers['Content-Length'] or 0)).decode()
        with self.lock:
            if 'uploads' in query:
                identifier = f'upload{len(self.uploads)}'
                self.uploads[identifier] = [url.path, [], 0, hashlib.sha256()]
                return self.answer(200, '<InitiateMultipartUploadResult>'
                                   f'<UploadId>{identifier}</UploadId></InitiateMultipartUploadResult>')
            key, tags, length, whole = self.uploads[query['uploadId']]
            if re.findall(r'<PartNumber>(\d+)</PartNumber><ETag>"(\w+)"', text) != \
                    [(str(number), tag.hex()) for number, tag in enumerate(tags, 1)]:
                return self.answer(400, '<Error><Code>InvalidPart</Code></Error>')
            del self.uploads[query['uploadId']]
            self.objects[key] = length, whole.hexdigest()
        tag = f'{hashlib.md5(b"".join(tags)).hexdigest()}-{len(tags)}'
        self.answer(200, f'<CompleteMultipartUploadResult><ETag>"{tag}"</ETag></CompleteMultipartUploadResult>')

    def do_PUT(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        upload = self.uploads[query['uploadId']] if query else None
        whole = upload[3].copy() if upload else hashlib.sha256()
        found = self.body(whole)
        if not found:
            return self.answer(400, '<Error><Code>BadDigest</Code></Error>')
        length, md5 = found
        with self.lock:
            if not upload:
                self.objects[url.path] = length, whole.hexdigest()
            elif int(query['partNumber']) == len(upload[1]) + 1 and length <= PART:
                upload[1].append(md5.digest())
                upload[2:] = upload[2] + length, whole
            else:
                return self.answer(400, '<Error><Code>InvalidPart</Code></Error>')
        self.answer(200, ETag=f'"{md5.hexdigest()}"')

    def do_DELETE(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        with self.lock:
            self.uploads.pop(query['uploadId'], None)
        self.answer(204)
        self.aborted.set()

    def do_GET(self):  # The parts of an aborted upload.
        self.answer(404, '<Error><Code>NoSuchUpload</Code></Error>')


class Moto:
    """The server of moto."""

    def __init__(self):
        from moto.server import ThreadedMotoServer
        self.aborted = threading.Event()
        logging.getLogger('werkzeug').addFilter(self.filter)
        self.server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
        self.server.start()
        self.url = 'http://{}:{}'.format(*self.server.get_host_and_port())
        self.read('', 'PUT')

    def filter(self, record):
        """Suppresses the messages of the server, one of which reports an abort."""
        if 'DELETE ' in record.getMessage():
            self.aborted.set()
        return False

    def read(self, target, method='GET'):
        # moto accepts any signature.
        request = urllib.request.Request(
            f'{self.url}/bucket{target}', method=method,
            headers={'Authorization': 'AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request'})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    @property
    def objects(self):
        """The lengths and digests of all objects, by their paths."""
        found = {}
        for key in re.findall('<Key>(.*?)</Key>', self.read('').decode()):
            path = f'/{urllib.parse.quote(key)}'
            bytes = self.read(path)
            found[f'/bucket{path}'] = len(bytes), hashlib.sha256(bytes).hexdigest()
        return found

    @property
    def uploads(self):
        return re.findall('<UploadId>(.*?)</UploadId>', self.read('?uploads').decode())


def blocks(length):
    """Makes `length` bytes, in blocks that are all different."""
    pattern, number = os.urandom(BLOCK), 0
    while length:
        number += 1
        block = (number.to_bytes(8, 'big') + pattern[8:])[:length]
        length -= len(block)
        yield block


def head(name):
    return (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            'Content-Type: video/mp4\r\n\r\n').encode()


def connect(port, length):
    connection = socket.create_connection(('127.0.0.1', port))
    connection.sendall(
        f'POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n'
        f'Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {length}\r\n\r\n'.encode())
    return connection


def send(port, files):
    """Sends a form; returns the answer as JSON and the expected digests."""
    end = f'--{BOUNDARY}--\r\n'.encode()
    connection = connect(port, sum(len(head(name)) + length + 2 for name, length in files) + len(end))
    digests = []
    for name, length in files:
        digest = hashlib.sha256()
        connection.sendall(head(name))
        for block in blocks(length):
            digest.update(block)
            connection.sendall(block)
        connection.sendall(b'\r\n')
        digests.append(digest.hexdigest())
    connection.sendall(end)
    answer = b''.join(iter(lambda: connection.recv(BLOCK), b''))
    connection.close()
    start, _, text = answer.partition(b'\r\n\r\n')
    if not start.startswith(b'HTTP/1.1 200 '):
        sys.exit(f'FormToS3 answered: {answer.decode()}')
    return json.loads(text), digests


if options.moto:
    store = Moto()
else:
    store = Sink
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    store.url = f'http://127.0.0.1:{server.server_port}'
environment = {name: value for name, value in os.environ.items() if not name.startswith('AWS_')} | {
    'AWS_ENDPOINT_URL': store.url, 'AWS_ACCESS_KEY_ID': 'key', 'AWS_SECRET_ACCESS_KEY': 'secret',
    'AWS_REGION': 'us-east-1', 'LOG_LEVEL': 'error'}
program = subprocess.Popen(
    [options.program, 's3://bucket/forms/'], env=environment, stdout=subprocess.PIPE, text=True)
try:
    port = urllib.parse.urlsplit(program.stdout.readline().strip()).port
    files = [('photo.jpg', 100_000), ('two parts.mov', PART + 1), ('long.mov', int(options.gib * (1 << 30)))]
    start = time.monotonic()
    answer, digests = send(port, files)
    seconds = time.monotonic() - start
    expected = [
        {'name': name, 'object': f's3://bucket/forms/{urllib.parse.quote(name)}', 'byteCount': length, 'sha256': digest}
        for (name, length), digest in zip(files, digests)]
    if answer != expected:
        sys.exit(f'FormToS3 answered {answer} instead of {expected}.')
    objects = {urllib.parse.urlsplit(file['object']).path: (file['byteCount'], file['sha256']) for file in expected}
    objects = {f'/bucket{path}': facts for path, facts in objects.items()}
    if store.objects != objects:
        sys.exit(f'The store has {store.objects} instead of {objects}.')

    # Breaks off in the second part of an object.
    connection = connect(port, 1 << 30)
    connection.sendall(head('broken.mov'))
    for block in blocks(PART + PART // 2):
        connection.sendall(block)
    connection.close()
    if not store.aborted.wait(60):
        sys.exit('The upload of the broken form was not aborted.')
    if store.objects != objects or store.uploads:
        sys.exit(f'The broken form left {store.objects.keys() - objects.keys()} and {store.uploads}.')

    with open(f'/proc/{program.pid}/status') as status:
        memory = int(re.search(r'VmHWM:\s+(\d+) kB', status.read()).group(1)) << 10
    total = sum(length for _, length in files)
    print(f'{total / (1 << 30):.2f} GiB at {total / seconds / 1e6:.0f} MB/s, peak memory {memory / (1 << 20):.0f} MiB')
    if memory > MAXIMUM_MEMORY:
        sys.exit(f'FormToS3 used more than {MAXIMUM_MEMORY >> 20} MiB.')
finally:
    program.terminate()
    program.wait()
