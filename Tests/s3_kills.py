#!/usr/bin/env python3
"""Kills `blob upload --resumable s3`, or the store, at random places until the file is stored, and compares the object
with the file.

usage: openstack.py FOLDER PYTHON s3_kills.py BLOB [--kills N] [--bytes N] [--jobs N] [--seed N] [--store]   with
the PYTHON of a venv that has `botocore`

All bytes pass a proxy that counts those to the store. The bytes that a kill costs are those of the parts that it cut:
fewer than --jobs parts of 16 MiB.
"""
import argparse, hashlib, os, random, signal, socket, subprocess, sys, tempfile, threading, time
import botocore.session
from botocore.config import Config
from loopback_proxy import LoopbackProxy

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--kills', type=int, default=50, help='kills (default 50)')
parser.add_argument('--bytes', type=int, default=1 << 30, help='length of the file (default 1 GiB)')
parser.add_argument('--jobs', type=int, default=4, help='parts at once (default 4)')
parser.add_argument('--seed', type=int, default=random.randrange(1 << 32), help='of the random places')
parser.add_argument('--store', action='store_true', help='kill the store instead of the client')
options = parser.parse_args()
PART = 16 << 20
HEAD = 2048  # More than a head has, for each request.
random.seed(options.seed)
print(f'seed {options.seed}')


def restart_store():
    """Kills the store, and returns when it has started again."""
    os.kill(os.getppid(), signal.SIGUSR1)
    with open(os.environ['BLOBSTREAMS_S3_STARTS']) as starts:
        starts.read()


class Proxy(LoopbackProxy):
    """Counts the bytes to the server."""

    def __init__(self, port):
        self.count, self.lock = 0, threading.Condition()
        super().__init__(port)

    def wait(self, count, seconds, process):
        """Waits until `count` bytes have passed, the time is up, or the process has ended."""
        end = time.monotonic() + seconds
        with self.lock:
            while self.count < count and process.poll() is None and (rest := end - time.monotonic()) > 0:
                self.lock.wait(min(rest, 0.05))

    def wait_for_ends(self):
        """Waits until both sides have closed all connections."""
        while self.copies:
            self.copies.pop().join()

    def copy(self, source, target, counts):
        try:
            while data := source.recv(1 << 18):
                target.sendall(data)
                if counts:
                    with self.lock:
                        self.count += len(data)
                        self.lock.notify_all()
            target.shutdown(socket.SHUT_WR)
        except OSError:
            self.cut(source, target)


def digest(file):
    hasher = hashlib.sha256()
    while data := file.read(1 << 20):
        hasher.update(data)
    return hasher.hexdigest()


def stored():
    """The number of bytes of all parts that the store has."""
    sizes = [0]
    for upload in client.list_multipart_uploads(Bucket='bucket').get('Uploads', []):
        parts = client.list_parts(Bucket='bucket', Key=upload['Key'], UploadId=upload['UploadId'])
        sizes.append(sum(part['Size'] for part in parts.get('Parts', [])))
    return max(sizes)


proxy = Proxy(int(os.environ['AWS_ENDPOINT_URL_S3'].rsplit(':', 1)[1]))
client = botocore.session.get_session().create_client(
    's3', endpoint_url=os.environ['AWS_ENDPOINT_URL_S3'], config=Config(s3={'addressing_style': 'path'}))
environment = {**os.environ, 'AWS_ENDPOINT_URL_S3': f'http://127.0.0.1:{proxy.port}'}
with tempfile.TemporaryDirectory() as folder:
    path, state = os.path.join(folder, 'file'), os.path.join(folder, 'state')
    with open(path, 'wb') as file:
        for _ in range(options.bytes >> 20):
            file.write(random.randbytes(1 << 20))
    command = [options.blob, 'upload', '--progress', 'never', '--resumable', 's3', '--state', state,
               '--retry', str(options.kills + 8), '--jobs', str(options.jobs), path, 's3://bucket/killed']
    kills, lost, before, worst = 0, 0, 0, 0
    while True:
        start = proxy.count
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # By the bytes of the run, or by its time, so that starts and comparisons are hit as well.
        bytes_, seconds = random.choice([(random.randrange(5 * PART), 600), (1 << 60, random.random())])
        while options.store and process.poll() is None and kills < options.kills:
            proxy.wait(proxy.count + random.randrange(2 * options.bytes // options.kills), 600, process)
            if process.poll() is None:
                restart_store()
                kills += 1
        if not options.store and kills < options.kills:
            proxy.wait(start + bytes_, seconds, process)
            process.kill()
        output, errors = process.communicate()
        if process.returncode != -signal.SIGKILL:
            break
        kills += 1
        proxy.wait_for_ends()
        after = stored()
        cut = proxy.count - start - (after - before)
        lost, worst, before = lost + cut, max(worst, cut), after
    if process.returncode != 0:
        sys.exit(f'blob upload ended with {process.returncode} after {kills} kills: {errors}')
    with open(path, 'rb') as file:
        expected = digest(file)
    found = digest(client.get_object(Bucket='bucket', Key='killed')['Body'])
    left = client.list_multipart_uploads(Bucket='bucket').get('Uploads', [])
if options.store:
    print(f'{kills} kills of the store; {options.bytes} bytes, {proxy.count} sent; {len(left)} uploads left')
    lost = worst = kills * options.jobs * PART
else:
    print(f'{kills} kills; {options.bytes} bytes, {proxy.count} sent, {lost} of them in parts that a kill cut, {worst} at most'
          f' by one; {len(left)} uploads left')
if found != expected or left or os.path.exists(state):
    sys.exit(f'The object has the SHA-256 {found}, the file {expected}.')
if not options.store and worst > options.jobs * PART + 100 * HEAD:
    sys.exit('A kill cost more than the parts under way.')
if proxy.count - options.bytes - lost > 200 * HEAD * (kills + 1):
    sys.exit('Parts that were stored were sent again.')
