#!/usr/bin/env python3
"""Reads members through `blob serve` with DuckDB, pandas and ffmpeg, as the documentation shows it in a few lines each.

usage: adopters.py BLOB   with the Python of a venv that has `duckdb`, `duckdb-extension-httpfs` of the same version,
                          `pandas`, `pyarrow`, `moto[s3,server]` and `boto3`

The members are in a zip in an S3 bucket, in a tar.gz and in a tar. Each result is compared with the result of the same
function for the file itself. Prints a line for each use, with the bytes that were transferred; the exit status is 1 if
one failed.
"""
import argparse, contextlib, inspect, logging, os, pathlib, shutil, subprocess, sys, tarfile, tempfile, traceback
import zipfile

import boto3, duckdb, duckdb_extension_httpfs, numpy, pandas
from moto.server import ThreadedMotoServer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from loopback_proxy import LoopbackProxy

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
options = parser.parse_args()
ROWS, SECONDS, LINES = 400_000, 120, 5
KEYS = {'AWS_ACCESS_KEY_ID': 'key', 'AWS_SECRET_ACCESS_KEY': 'secret', 'AWS_REGION': 'us-east-1'}


# The uses. A source is the URL of a member, or the path of a file.


def sum_with_duckdb(source):
    """DuckDB reads the footer of a Parquet file, and then only the columns of the query."""
    return duckdb.sql(f"SELECT kind, sum(amount) FROM '{source}' GROUP BY kind ORDER BY kind").fetchall()


def find_with_duckdb(source):
    """DuckDB reads only the row groups whose statistics admit the row."""
    return duckdb.sql(f"SELECT * FROM '{source}' WHERE number = 123456").fetchall()


def count_with_duckdb(source):
    """DuckDB guesses the types of the columns of a CSV file."""
    return duckdb.sql(f"SELECT kind, count(*), max(number) FROM '{source}' GROUP BY kind ORDER BY kind").fetchall()


def read_csv_with_pandas(source):
    """pandas reads a CSV file in one request."""
    return pandas.read_csv(source).describe().to_csv()


def read_parquet_with_pandas(source):
    """pandas reads a whole Parquet file."""
    return pandas.read_parquet(source, columns=['number', 'amount']).describe().to_csv()


def frame_with_ffmpeg(source):
    """ffmpeg seeks to a moment of a film, and decodes one frame."""
    command = ['ffmpeg', '-v', 'error', '-ss', '45', '-i', source, '-frames:v', '1', '-f', 'image2', '-c:v', 'png', '-']
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout


def duration_with_ffprobe(source):
    """ffprobe reads the index of a film, which is at its end."""
    command = ['ffprobe', '-v', 'error', '-show_entries', 'format=duration,size:stream=codec_name', source]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


class CountingProxy(LoopbackProxy):
    """Counts the bytes that a server sends."""

    def __init__(self, target=None):
        self.sent = []
        super().__init__(target)

    def copy(self, source, target, is_request):
        try:
            while piece := source.recv(1 << 16):
                if not is_request:
                    self.sent.append(len(piece))
                target.sendall(piece)
        except OSError:
            pass
        self.cut(source, target)

    def byte_count(self):
        return sum(self.sent)


def make_files(folder):
    """Makes the tables and the films, and the archives that contain them."""
    rng = numpy.random.default_rng(4)
    table = pandas.DataFrame({
        'number': numpy.arange(ROWS), 'kind': rng.choice(['apple', 'pear', 'plum'], ROWS),
        'amount': rng.integers(0, 100_000, ROWS), 'noise': rng.integers(0, 1 << 62, ROWS)})
    table.to_parquet(folder / 'table.parquet', row_group_size=ROWS // 20)
    table.to_csv(folder / 'table.csv', index=False)
    with zipfile.ZipFile(folder / 'data.zip', 'w') as file:
        file.write(folder / 'table.csv', 'table.csv', zipfile.ZIP_DEFLATED)
        file.write(folder / 'table.parquet', 'table.parquet', zipfile.ZIP_STORED)
        file.write(folder / 'table.parquet', 'deflated.parquet', zipfile.ZIP_DEFLATED)
    with tarfile.open(folder / 'data.tar.gz', 'w:gz') as file:
        for name in ('table.csv', 'table.parquet'):
            file.add(folder / name, name)
    codecs = {'film.mp4': ['libx264', '-preset', 'ultrafast'],
              'film.webm': ['libvpx', '-deadline', 'realtime', '-cpu-used', '8']}
    for name, codec in codecs.items():
        subprocess.run(
            ['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', f'testsrc2=size=320x240:rate=12:duration={SECONDS}', '-vf',
             'noise=alls=40:allf=t', '-pix_fmt', 'yuv420p', '-c:v', *codec, '-b:v', '4M', '-g', '24', folder / name],
            check=True)
    with tarfile.open(folder / 'films.tar', 'w') as file:
        for name in codecs:
            file.add(folder / name, name)


@contextlib.contextmanager
def s3_store(path):
    """Yields a counting proxy of a store with the file in the bucket `bucket`."""
    logging.getLogger('werkzeug').setLevel(logging.ERROR)
    server = ThreadedMotoServer('127.0.0.1', 0, verbose=False)
    server.start()
    try:
        proxy = CountingProxy(server.get_host_and_port()[1])
        client = boto3.client('s3', endpoint_url=f'http://127.0.0.1:{proxy.target}', region_name=KEYS['AWS_REGION'])
        client.create_bucket(Bucket='bucket')
        client.upload_file(str(path), 'bucket', path.name)
        yield proxy
    finally:
        server.stop()


@contextlib.contextmanager
def serving(folder, *locators):
    """Yields a counting proxy of `blob serve`, and the root's URL at the proxy."""
    server = subprocess.Popen(
        [os.path.abspath(options.blob), 'serve', *map(str, locators)], stdout=subprocess.PIPE, text=True,
        env=os.environ | {'XDG_CACHE_HOME': str(folder / 'cache')})
    try:
        scheme, _, authority, path = server.stdout.readline().strip().split('/', 3)
        proxy = CountingProxy(int(authority.rpartition(':')[2]))
        yield proxy, f'{scheme}//127.0.0.1:{proxy.port}/{path}'
    finally:
        server.terminate()
        server.wait()


def install_httpfs(folder):
    """Installs the extension with which DuckDB reads URLs from its package, where DuckDB would download it."""
    file = next(pathlib.Path(duckdb_extension_httpfs.__file__).parent.rglob('httpfs.duckdb_extension'))
    duckdb.sql(f"SET extension_directory = '{folder}/extensions'")
    duckdb.sql(f"INSTALL '{file}'")


# A use, the path below the root, the file with the same bytes, and the part of the file that may be transferred.
USES = [
    (sum_with_duckdb, 'data.zip/table.parquet', 'table.parquet', 0.7),
    (find_with_duckdb, 'data.zip/table.parquet', 'table.parquet', 0.3),
    (sum_with_duckdb, 'data.zip/deflated.parquet', 'table.parquet', 0.7),
    (count_with_duckdb, 'data.zip/table.csv', 'table.csv', None),
    (read_csv_with_pandas, 'data.tar.gz/table.csv', 'table.csv', 1.1),
    (read_parquet_with_pandas, 'data.tar.gz/table.parquet', 'table.parquet', 1.1),
    (frame_with_ffmpeg, 'films.tar/film.mp4', 'film.mp4', 0.3),
    (frame_with_ffmpeg, 'films.tar/film.webm', 'film.webm', 0.3),
    (duration_with_ffprobe, 'films.tar/film.mp4', 'film.mp4', 0.3),
]


def body_lines(function):
    """Returns the number of lines of a function without its first line and its comment."""
    return len(inspect.getsource(function).splitlines()) - 2


def main(folder):
    """Returns the number of uses that failed."""
    failures = 0
    make_files(folder)
    install_httpfs(folder)
    os.environ.update(KEYS)
    with s3_store(folder / 'data.zip') as store:
        os.environ['AWS_ENDPOINT_URL'] = f'http://127.0.0.1:{store.port}'
        with serving(folder, 's3://bucket/data.zip', folder / 'data.tar.gz', folder / 'films.tar') as (proxy, root):
            for use, path, name, part in USES:
                size, sent, stored = (folder / name).stat().st_size, proxy.byte_count(), store.byte_count()
                try:
                    result = use(root + path)
                    is_same = bool(result) and result == use(str(folder / name))
                except Exception:
                    traceback.print_exc()
                    is_same = False
                sent, stored = proxy.byte_count() - sent, store.byte_count() - stored
                is_good = is_same and (part is None or 0 < sent < part * size) and body_lines(use) <= LINES
                failures += not is_good
                print(f'{"ok" if is_good else "FAILED"}: {use.__name__.replace("_", " ")}, {path}: '
                      f'{"the same" if is_same else "another"} result; {sent / 1e6:.2f} of {size / 1e6:.2f} MB'
                      + (f' (at most {part * size / 1e6:.2f})' if part else '')
                      + (f', {stored / 1e6:.2f} MB from S3' if stored else '')
                      + f'; lines of code: {body_lines(use)}', flush=True)
    return failures


for program in ('ffmpeg', 'ffprobe'):
    if not shutil.which(program):
        sys.exit(f'This needs {program}.')
with tempfile.TemporaryDirectory() as folder:
    count = main(pathlib.Path(folder))
print(f'DuckDB {duckdb.__version__} with httpfs, pandas {pandas.__version__}: {len(USES)} uses, {count} failed')
sys.exit(count > 0)
