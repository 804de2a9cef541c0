#!/usr/bin/env python3
"""An album of photos as one zip to a browser, continued after half of it; and the objects of a bucket as one zip in
another bucket, in parts, continued after a kill.

usage: adopters.py BLOB   with the Python of a venv that has `websockets`, `moto[s3,server]` and `boto3`

The photos are in a library. A proxy cuts the connection of the browser's download in the middle, and the server is
killed and started again before the browser continues. Prints a line for each check; the exit status is 1 if one failed.
"""
import argparse, io, logging, os, random, shutil, subprocess, sys, tempfile, threading, time, urllib.request, zipfile

import boto3
from moto.server import ThreadedMotoServer

tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path += [tests, os.path.join(tests, 'PickerCheck')]
from browser import LIMIT, Browser
from loopback_proxy import LoopbackProxy

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
blob = os.path.abspath(parser.parse_args().blob)
work = tempfile.mkdtemp()
os.environ |= {'XDG_CACHE_HOME': f'{work}/cache', 'AWS_ACCESS_KEY_ID': 'key', 'AWS_SECRET_ACCESS_KEY': 'secret',
               'AWS_REGION': 'us-east-1'}
failures = []


def check(condition, text):
    print(f'{"ok" if condition else "FAILED"}: {text}', flush=True)
    if not condition:
        failures.append(text)


def run(*words, **options):
    return subprocess.run([blob, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


class CuttingProxy(LoopbackProxy):
    """Cuts the first connection that has more than `rest` bytes of answers, once."""
    rest, wasCut = None, threading.Event()

    def copy(self, source, target, is_request):
        while True:
            try:
                data = source.recv(1 << 16)
                if not data:
                    break
                target.sendall(data)
            except OSError:
                break
            if not is_request and self.rest is not None:
                self.rest -= len(data)
                if self.rest < 0:
                    self.rest = None
                    self.onCut()
                    self.wasCut.set()
                    break
        self.cut(source, target)


def serve(path, port=0):
    words = [blob, 'serve', '--listen', f'127.0.0.1:{port}', '--token', 'secret', '--library', path]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline().strip().split(':')[2].split('/')[0])


def album_to_browser():
    photos = f'{work}/album'
    os.makedirs(photos)
    generator = random.Random(1)
    contents = {}
    for number in range(60):
        name = f'IMG_{number:04}.jpg'
        contents[name] = b'\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0' + generator.randbytes(400_000) + b'\xff\xd9'
        with open(f'{photos}/{name}', 'wb') as file:
            file.write(contents[name])
    server, port = serve(photos)
    proxy = CuttingProxy(port)
    url = f'http://127.0.0.1:{proxy.port}/secret/album/?format=zip'
    tag, end = 'W/', time.monotonic() + LIMIT
    # Files that were just written have no strong validator, without which a browser begins again.
    while tag.startswith('W/') and time.monotonic() < end:
        with urllib.request.urlopen(url) as answer:
            whole, tag, length = answer.read(), answer.headers['ETag'], int(answer.headers['Content-Length'])
    check(len(whole) == length and not tag.startswith('W/'), f'a zip of {length} bytes has a length and a strong tag {tag}')
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        check({name: archive.read(name) for name in archive.namelist()} == contents, 'the zip has the photos')
    state = {'server': server}

    def restart():
        state['server'].kill()
        state['server'].wait()
        state['server'] = serve(photos, port)[0]

    proxy.onCut, proxy.rest = restart, length // 2
    with Browser() as page:
        page.call('Browser.setDownloadBehavior', behavior='allow', downloadPath=f'{work}/downloads', eventsEnabled=True)
        try:
            page.open(f'http://127.0.0.1:{proxy.port}/secret/album/')
            end = time.monotonic() + LIMIT
            # The page before it may take a promise with it.
            while not page.value('!!document.querySelector("a[download]")') and time.monotonic() < end:
                threading.Event().wait(0.1)
            page.value('document.querySelector("a[download]").click()')
            found = None
            end = time.monotonic() + LIMIT
            while found is None and time.monotonic() < end:
                page.value('1')  # Events arrive with the next answer.
                for message in page.messages:
                    state_ = message.get('params', {}).get('state')
                    if message['method'] == 'Browser.downloadProgress' and state_ in ('completed', 'canceled'):
                        found = state_
                threading.Event().wait(0.1)
        finally:
            state['server'].kill()
    check(proxy.wasCut.is_set(), 'the connection was cut, and the server killed, in the middle')
    names = os.listdir(f'{work}/downloads') if os.path.isdir(f'{work}/downloads') else []
    check(found == 'completed' and names == ['album.zip'], f'the browser continued: {found}, {names}')
    if names:
        with open(f'{work}/downloads/{names[0]}', 'rb') as file:
            check(file.read() == whole, 'what it has is the zip')


def bucket_to_bucket():
    logging.getLogger('werkzeug').setLevel(logging.ERROR)
    server = ThreadedMotoServer('127.0.0.1', 0, verbose=False)
    server.start()
    proxy = CuttingProxy(server.get_host_and_port()[1])
    os.environ['AWS_ENDPOINT_URL_S3'] = f'http://127.0.0.1:{proxy.port}'
    client = boto3.client('s3', endpoint_url=f'http://127.0.0.1:{proxy.target}', region_name='us-east-1')
    generator = random.Random(2)
    contents = {}
    for name in ('origin', 'target'):
        client.create_bucket(Bucket=name)
    for number in range(120):
        key = f'logs/2026/ü {number:03}.bin'
        contents[key.removeprefix('logs/')] = generator.randbytes(generator.choice([0, 1000, 200_000, 1_500_000]))
        client.put_object(Bucket='origin', Key=key, Body=contents[key.removeprefix('logs/')])

    def verify(text):
        found = client.get_object(Bucket='target', Key='logs.zip')
        with zipfile.ZipFile(io.BytesIO(found['Body'].read())) as archive:
            same = {name: archive.read(name) for name in archive.namelist()} == contents
        check(same and '-' in found['ETag'], f'{text}, tag {found["ETag"]}')

    result = run('upload', '--zip', 's3://origin/logs/', 's3://target/logs.zip')
    check(result.returncode == 0, f'a bucket as one zip in another: {result.stderr or result.stdout}')
    if result.returncode == 0:
        verify('in parts')
    client.delete_object(Bucket='target', Key='logs.zip')
    words = [blob, 'upload', '--zip', '--resumable', 's3', '--state', f'{work}/state', 's3://origin/logs/', 's3://target/logs.zip']
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and first.poll() is None:
        uploads = client.list_multipart_uploads(Bucket='target').get('Uploads', [])
        if uploads and client.list_parts(Bucket='target', Key='logs.zip', UploadId=uploads[0]['UploadId']).get('Parts'):
            break
        threading.Event().wait(0.05)
    first.kill()
    wasKilled = first.wait() == -9
    result = run(*words[1:])
    check(result.returncode == 0, f'killed ({wasKilled}) after its first part, and continued: {result.stderr}')
    if result.returncode == 0:
        verify('after the kill')
    server.stop()


try:
    bucket_to_bucket()
    album_to_browser()
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(bool(failures))
