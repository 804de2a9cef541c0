"""The uses of `blob` that run.py runs under faults."""
import hashlib, os, subprocess
from dataclasses import dataclass, field

# The codes of an error of the system, which tells nothing about the data.
SYSTEM = {'io', 'unavailable'}
# A helper that cannot be found, or is lost, is no different from one that the archive made crash.
LOST_HELPER = SYSTEM | {'unsupported', 'corrupted'}
# SQLite calls a page that it cannot read malformed, and a file that it cannot open for writing read-only; a catalogue
# that cannot be looked at after a transaction may be another one.
CATALOGUE = SYSTEM | {'corrupted', 'permissionDenied', 'changed'}
# A connection that breaks in the middle.
WEB = SYSTEM | {'truncated', 'timedOut'}


@dataclass
class Use:
    """One use of the command.

    {F} is the folder of the fixtures, {O} one for outputs, made for each run, {H} the URL of a server of the fixtures,
    and {U} one to upload to.
    """
    name: str
    words: list
    expected: bytes
    size: str = 'small'
    input: str = None  # A file that goes through a pipe to standard input.
    fifo: str = None  # A file that goes through the FIFO {O}/fifo.
    program: str = 'blob'
    codes: set = field(default_factory=lambda: SYSTEM)
    caches: str = None  # A folder with indexes that are there before.
    library: str = None  # A library of assets, copied to {O}/library.
    isList: bool = False  # Each line of the output stands for itself; so does each error.
    output: str = None  # The file that has the expected bytes instead of standard output.
    received: bytes = None  # The body that is uploaded.
    requests: list = None  # Requests to send to a server: a path, the expected bytes, and a body to put.
    after: tuple = None  # A command that runs without faults after a run, and its bytes.


def uses(blob, folder, fixtures, content, uploads):
    """Yields the uses of a command over the files in `fixtures`; indexes and a library for them go to `folder`. Uploads
    need a receiver."""
    def clean(words, **environment):
        fill = lambda text: text.format(F=fixtures, O=folder)
        return subprocess.run(
            [blob] + [fill(word) for word in words], check=True, stdout=subprocess.PIPE,
            env=dict(os.environ, **environment)).stdout

    small, big = content['small'], content['big']
    ranges = big[4_000_000:4_001_000] + big[10:30] + big[2_500_000:2_570_000]
    digest = lambda data, name: f'{hashlib.sha256(data).hexdigest()}  {name}\n'.encode()
    path = lambda name: os.path.join(fixtures, name)
    there = lambda name: os.path.exists(path(name))
    password = ['--password-file', '{F}/password']
    damage = SYSTEM | {'corrupted', 'limitExceeded'}
    yield Use('file', ['cat', '{F}/small'], small)
    yield Use('file to a file', ['cat', '{F}/small', '--output', '{O}/out'], small, output='out')
    yield Use('file at an offset', ['cat', '{F}/big', '--offset', '5000000'], big[5_000_000:], 'big')
    yield Use('file, ranges', ['cat', '{F}/big', '--ranges', '{F}/ranges'], ranges, 'big')
    yield Use('file, digest', ['sum', '{F}/small'], digest(small, path('small')))
    yield Use('file, verified first', ['cat', '--verify-first', '{F}/small'], small)
    yield Use('files', ['cat', '--fail-fast', '{F}/small', '{F}/a.tar#one', '{F}/small'], small + b'first' + small)
    yield Use('standard input', ['cat', '-'], small, input=path('small'))
    yield Use('FIFO', ['cat', '{O}/fifo'], small, fifo=path('small'))
    yield Use('gzip', ['cat', 'gzip+{F}/small.gz', '--index', 'none'], small)
    yield Use('gzip of standard input', ['cat', 'gzip+-'], small, input=path('small.gz'))
    yield Use('gzip of a FIFO', ['cat', 'gzip+file://{O}/fifo'], small, fifo=path('small.gz'))
    yield Use(
        'gzip, first use', ['cat', 'gzip+{F}/big.gz', '--offset', '3000000'], big[3_000_000:], 'big',
        after=(['cat', 'gzip+{F}/big.gz', '--offset', '5000000'], big[5_000_000:]))
    yield Use(
        'gzip, index build', ['index', 'build', 'gzip+{F}/big.gz', '--output', '{O}/index'], None, 'big',
        after=(['cat', 'gzip+{F}/big.gz', '--index', '{O}/index', '--offset', '4900000'], big[4_900_000:]))
    caches = os.path.join(folder, 'caches')
    os.mkdir(caches)
    for locator in ('gzip+{F}/big.gz', '{F}/a.tar.gz', '{F}/big.bz2'):
        clean(['index', 'build', locator], XDG_CACHE_HOME=caches)
    yield Use('gzip by index', ['cat', 'gzip+{F}/big.gz'], big, 'big', caches=caches)
    yield Use(
        'gzip by index, ranges', ['cat', 'gzip+{F}/big.gz', '--ranges', '{F}/ranges'], ranges, 'big', caches=caches)
    yield Use('BGZF', ['cat', 'gzip+{F}/big.bgzf', '--index', 'none'], big, 'big')
    yield Use(
        'BGZF at an offset', ['cat', 'gzip+{F}/big.bgzf', '--offset', '5000000', '--index', 'none'],
        big[5_000_000:], 'big')
    yield Use('tar', ['cat', '{F}/a.tar#small'], small)
    yield Use('tar, members', ['ls', '{F}/a.tar'], b'one\nsmall\n' + b'n' * 200 + b'\n')
    yield Use(
        'tar.gz', ['cat', '{F}/a.tar.gz#small'], small, after=(['cat', '{F}/a.tar.gz#' + 'n' * 200], b'last'))
    yield Use('tar.gz by table', ['cat', '{F}/a.tar.gz#' + 'n' * 200], b'last', caches=caches)
    yield Use(
        'tar.gz by table, members', ['ls', '{F}/a.tar.gz'], b'one\nsmall\n' + b'n' * 200 + b'\n', caches=caches)
    for member in ('stored', 'deflated', 'lzma'):
        yield Use(f'zip, {member}', ['cat', '{F}/a.zip#' + member], small)
    yield Use('zip, members', ['ls', '{F}/a.zip'], b'stored\ndeflated\nlzma\n')
    yield Use(
        'zip of standard input', ['cat', 'zip+-#deflated'], small, input=path('a.zip'))
    yield Use('zip to a file', ['cat', '{F}/a.zip#deflated', '-o', '{O}/out'], small, output='out')
    yield Use(
        'zip, digests', ['sum', '{F}/a.zip#stored', '{F}/a.zip#lzma'],
        digest(small, path('a.zip#stored')) + digest(small, path('a.zip#lzma')), isList=True)
    yield Use('xz', ['cat', 'xz+{F}/big.xz'], big[:1 << 20], 'big')
    yield Use('xz at an offset', ['cat', 'xz+{F}/big.xz', '--offset', '900000'], big[900_000:1 << 20], 'big')
    yield Use('bzip2', ['cat', 'bzip2+{F}/small.bz2'], small)
    yield Use(
        'bzip2 by index', ['cat', 'bzip2+{F}/big.bz2', '--offset', '900000'], big[900_000:1 << 20], 'big',
        caches=caches)
    if there('small.zst'):
        yield Use('Zstandard', ['cat', 'zstd+{F}/small.zst'], small)
    if there('a.7z'):
        yield Use('7z', ['cat', '{F}/a.7z#small'], small)
        yield Use('7z, members', ['ls', '{F}/a.7z'], b'small\n')
        yield Use('zip, AES', ['cat', '{F}/aes.zip#small'] + password, small)
        yield Use('7z, AES', ['cat', '{F}/aes.7z#small'] + password, small)
    for name in ('a.iso', 'a.rar', 'ppmd.7z'):
        if there(name):
            yield Use(f'{name} by the helper', ['cat', '{F}/' + name + '#small'], small, codes=LOST_HELPER)
            # To the command, a helper with faults is one that fails, and one whose limits fail is not confined.
            yield Use(
                f'{name}, in the helper', ['cat', '{F}/' + name + '#small'], small, program='blob-archive-helper',
                codes=damage | {'unsupported'})
    web = subprocess.run([blob, 'upload', '--help'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if web.returncode == 0:
        yield Use('HTTP', ['cat', '{H}/small'], small, codes=WEB)
        yield Use('HTTP at an offset', ['cat', '{H}/big', '--offset', '5000000'], big[5_000_000:], codes=WEB)
        yield Use('zip by HTTP', ['cat', '{H}/a.zip#deflated'], small, codes=WEB)
        yield Use(
            'fetch', ['fetch', '--quiet', '-o', '{O}/out', '{H}/small'], small, codes=WEB, output='out',
            after=(['fetch', '--quiet', '-o', '{O}/again', '{H}/small'], None))
        # Swift reads the arguments from /proc.
        yield Use(
            'serve', ['--no-token', '{F}/small', '{F}/a.zip'], None, 'big', program='blob-serve',
            codes=SYSTEM | {'invalidArgument'}, requests=[('/small', small), ('/a.zip/deflated', small)])
        yield Use(
            'receive', ['--directory', '{O}/store'], None, 'big', program='blob-receive',
            requests=[('/x', None, small)])
    if web.returncode == 0 and uploads:
        # The receiver reports it by the name of the file, which all runs share.
        resumable = ['upload', '-q', '--retry', '0', '--resumable', 'draft', '{F}/small', '{U}']
        yield Use('upload, resumable', resumable, None, codes=WEB)
        yield Use('upload', ['upload', '{F}/small', '{U}'], None, codes=WEB, received=small)
        yield Use('upload of a member', ['upload', '{F}/a.zip#deflated', '{U}'], None, codes=WEB, received=small)
        yield Use('upload in chunks', ['upload', '-', '{U}'], None, codes=WEB, input=path('small'), received=small)
    form = ['form', '--boundary', 'B', '-F', 'f=@{F}/small', '-F', 'g=@{F}/a.zip#deflated', '-F', 'h=i']
    yield Use('form', form, clean(form))
    library = os.path.join(folder, 'library')
    clean(['library', 'create', '--library', library])
    url = clean(['library', 'import', '--library', library, '{F}/small']).decode().strip()
    place = ['--library', '{O}/library']
    of_library = {'library': library, 'codes': CATALOGUE}
    yield Use('asset', ['cat', url] + place, small, **of_library)
    yield Use('asset at an offset', ['cat', url, '--offset', '9'] + place, small[9:], **of_library)
    yield Use('assets', ['library', 'ls'] + place, url.encode() + b'\n', **of_library)
    yield Use(
        'import', ['library', 'import', '{F}/small.gz'] + place, None, after=(['library', 'ls'] + place, None),
        **of_library)
