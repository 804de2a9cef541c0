#!/usr/bin/env python3
"""Attacks `blob serve`: no secret may leak, and a good client must be served well meanwhile. Linux only.

usage: Tests/ServeCheck/hostile.py BLOB [--connections N] [--swaps N] [--only NAME]

Serves a folder with links out of it, a FIFO, an archive and odd names, beside which is a secret with a marker. Sends
targets that lead out, malformed heads, and requests for paths that change into links meanwhile: the marker may be in no
answer. Then holds 10,000 connections that send slowly, send nothing, or read nothing, and measures a good client's
latency; sends floods of requests, and bodies that never end. The exit status is 1 if a check fails.
"""
import argparse, collections, io, json, math, multiprocessing, os, random, resource, secrets, selectors, shutil, signal
import socket, struct, sys, tarfile, tempfile, threading, time, urllib.parse

from conditions import PATIENCE, BlobServer, Connection

LIMIT = 2  # Seconds in which each hostile request is answered.
HEADER_TIMEOUT, IDLE_TIMEOUT = 20, 30  # Seconds; the options of the server under many connections.
LATENCY_LIMIT = 0.1  # Seconds; of the 99th percentile of the good client.
SMALL, HUGE = 64 * 1024, 64 * 1024 * 1024
CLIENT_ERRORS = range(400, 500)
MARKER = 'marker' + secrets.token_hex(16)  # Of the secret, in its content, and in names of files beside it.

failures = 0


def check(condition, text):
    global failures
    failures += not condition
    print(f'{"ok" if condition else "FAILED"}: {text}', flush=True)
    return condition


# ---------------------------------------------------------------------------------------------------------------------
# The files

ODD_NAMES = [
    b'\xff\xfe.bin', b'\xed\xa0\x80.txt', b'\xc0\xae\xc0\xae', b'new\nline.txt', b'carriage\r\nX-Injected: 1',
    b'\x01\x1f\x7f', b'back\\slash.txt', b'..\\..\\outside', b'per%cent.txt', b'per%2fcent.txt', b'%2e%2e',
    b'"quotes".txt', b"it's.txt", b'<img src=x onerror=alert(1)>.txt', b'"><b>.txt', b'a?b#c;d&e=f.txt', b' spaces ',
    b'...', b'..dots', b'.hidden', b'~', b'*', b'C:file', b'user@host:80', b'http:', b'\xc3\xa9.txt', b'e\xcc\x81.txt',
    b'n' * 255, '\u2025\uff0e\uff0e'.encode()]


def is_text(name):
    try:
        return bool(name.decode())
    except UnicodeDecodeError:
        return False


def write(path, content):
    with open(path, 'wb') as file:
        file.write(content)


def make_tar(path, members):
    """Writes a tar.gz of names with contents or, for links, with a type and a target."""
    with tarfile.open(path, 'w:gz') as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                info.type, info.linkname = content
                archive.addfile(info)


class Tree:
    """The files: `served` is given to the server, `outside` has the secret."""

    def __init__(self, root):
        self.root, self.served, self.outside = root, f'{root}/served', f'{root}/outside'
        secret = MARKER.encode() * 50
        for folder in ('outside/folder/deep', 'served/sub/deep', 'served/odd', 'served/swap', 'served/new\nfolder'):
            os.makedirs(f'{root}/{folder}')
        for name in ('secret.txt', 'folder/secret.txt', 'folder/deep/secret.txt', f'folder/{MARKER}.txt'):
            write(f'{self.outside}/{name}', secret)
        make_tar(f'{self.outside}/secret.tar.gz', [('secret.txt', secret)])
        self.small = random.Random(1).randbytes(SMALL)
        write(f'{self.served}/hello.txt', b'hello\n')
        write(f'{self.served}/sub/inner.txt', b'inner\n')
        write(f'{self.served}/small.bin', self.small)
        write(f'{self.served}/numbers.bin', b''.join(struct.pack('>I', number) for number in range(10_000)))
        with open(f'{self.served}/huge.bin', 'wb') as file:
            file.truncate(HUGE)
        for name in ODD_NAMES:
            write(os.fsencode(self.served) + b'/odd/' + name, b'content of ' + name)
        make_tar(f'{self.served}/backup.tar.gz', [
            ('etc/hosts', b'127.0.0.1 localhost\n'), ('link', (tarfile.SYMTYPE, f'{self.outside}/secret.txt')),
            ('relative', (tarfile.SYMTYPE, '../outside/secret.txt')), ('folder', (tarfile.SYMTYPE, self.outside)),
            ('hard', (tarfile.LNKTYPE, f'{self.outside}/secret.txt')), ('device', (tarfile.FIFOTYPE, '')),
            ('../outside/secret.txt', b'harmless\n'), ('/etc/passwd', b'harmless\n'), ('a/../../b', b'harmless\n')])
        self.links = {
            'to-file': f'{self.outside}/secret.txt', 'to-folder': f'{self.outside}/folder', 'to-root': '/',
            'to-archive.tar.gz': f'{self.outside}/secret.tar.gz', 'to-proc': '/proc/self', 'to-fifo': 'fifo',
            'to-environment': '/proc/self/environ', 'to-descriptor': '/proc/self/fd/0',
            'relative': '../outside/secret.txt', 'relative-folder': '../outside', 'sub/up': '..',
            'sub/deep/out': '../../../outside', 'chain': 'to-file', 'chain-folder': 'to-folder', 'inside': 'hello.txt',
            'inside-folder': 'sub', 'loop': '.', 'self': 'self', 'dangling': 'nothing'}
        for name, target in self.links.items():
            os.symlink(target, f'{self.served}/{name}')
        os.link(f'{self.served}/sub/inner.txt', f'{self.served}/hard.txt')
        os.mkfifo(f'{self.served}/fifo')
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f'{self.served}/socket')


# ---------------------------------------------------------------------------------------------------------------------
# Requests


class Prober:
    """Sends requests as they are, and looks for secrets in all answers."""

    def __init__(self, server, tree):
        self.server, self.tree, self.connection = server, tree, Connection(server.address, LIMIT)
        self.base = server.path + 'served/'
        self.host = ':'.join(map(str, server.address))
        self.token = server.path.strip('/')
        self.count, self.leaks, self.paths = 0, [], []

    def head(self, target, method='GET', fields=()):
        lines = [method.encode() + b' ' + os.fsencode(target) + b' HTTP/1.1', b'Host: ' + self.host.encode(), *fields]
        return b'\r\n'.join([*lines, b'', b''])

    def exchange(self, request, method='GET'):
        """Returns the answer or, when the connection was closed without one, None, and the seconds until then."""
        self.count += 1
        for _ in range(2):
            start, was_kept = time.monotonic(), self.connection.socket is not None
            try:
                self.connection.send(request)
            except ConnectionError:
                pass  # The answer may have been sent before the whole request was.
            except TimeoutError:
                break
            try:
                answer = self.connection.answer(method)
                self.inspect(request, answer)
                return answer, time.monotonic() - start
            except (ConnectionError, TimeoutError, ValueError) as error:
                rest, is_slow = self.connection.rest, isinstance(error, TimeoutError)
                self.connection.close()
                if MARKER.encode() in rest:
                    self.leaks.append(request)
                if is_slow or rest or not was_kept:
                    break
        return None, time.monotonic() - start

    def inspect(self, request, answer):
        text = repr(answer.fields).encode() + answer.body
        if MARKER.encode() in text:
            self.leaks.append(request)
        if answer.status >= 300 and self.tree.root.encode() in text:
            self.paths.append(request)
        # To a request without the token, it would be a leak; a redirection has the path that was asked for.
        if self.token and self.token.encode() in text and self.token.encode() not in request:
            self.leaks.append(request)

    def judge(self, label, requests, allowed=CLIENT_ERRORS, closing_is_allowed=False):
        """Checks that each request, a head or a target, is answered with an allowed status in time."""
        wrong, statuses, slowest, leaks = [], collections.Counter(), 0, len(self.leaks)
        for request in requests:
            head = request if isinstance(request, bytes) else self.head(request)
            answer, seconds = self.exchange(head, head.split(b' ')[0].decode('latin-1'))
            status = answer.status if answer else 'no answer'
            statuses[status], slowest = statuses[status] + 1, max(slowest, seconds)
            is_allowed = status in allowed or answer is None and closing_is_allowed and seconds < LIMIT
            if not is_allowed or seconds > LIMIT:
                wrong.append(f'{status} after {seconds:.3f} s to {head[:200]}')
        found = ', '.join(f'{count} times {status}' for status, count in sorted(statuses.items(), key=str))
        leaked = f'; LEAKED to {self.leaks[leaks][:300]}' if len(self.leaks) > leaks else ''
        check(not wrong and not leaked, f'{label}: {found}; the slowest took {slowest:.3f} s{leaked}')
        for text in wrong[:8]:
            print(f'    {text}')


UPS = ['..', '%2e%2e', '%2E%2e', '%2e.', '.%2E', '..%00', '%00..', '..;', '..%2f..', '..%5c..', '..\\..', '%252e%252e',
       '%25%32%65%25%32%65', '%c0%ae%c0%ae', '%e0%80%ae%e0%80%ae', '%f0%80%80%ae%f0%80%80%ae', '%c0%2e%c0%2e',
       '%ef%bc%8e%ef%bc%8e', '%e2%80%a5', '\uff0e\uff0e', '..%20', '%20..', '..%09', '..%0d%0a',
       '%u002e%u002e', '....', '.']
SEPARATORS = ['/', '%2f', '%2F', '\\', '%5c', '%c0%af', '%e0%80%af', '%252f', '//', '/./', '/%2e/', '%00/']


def climbing_targets(base):
    """Targets that a careless server takes for outside/secret.txt."""
    for start in ('', 'sub/', 'sub/deep/', 'hello.txt/', 'backup.tar.gz/', 'backup.tar.gz/etc/', 'missing/'):
        for up in UPS:
            for separator in SEPARATORS:
                for depth in (1, 2, 3):
                    yield base + start + (up + separator) * depth + 'outside' + separator + 'secret.txt'
    for up in UPS[:5]:
        yield from (f'/{up}', f'/{up}{base}', base[:-1] + up)
        yield from (base + name for name in (
            up, f'{up}/', f'sub/{up}', f'sub/{up}/hello.txt', f'{up}/served/hello.txt', f'backup.tar.gz/{up}/hello.txt',
            f'sub/{up}/sub/inner.txt', f'backup.tar.gz/etc/{up}/etc/hosts', f'{up}/' * 40 + 'etc/passwd'))


def odd_targets(base):
    yield from (base + name for name in (
        'sub//inner.txt', '/hello.txt', '//hello.txt', 'sub/./inner.txt', './hello.txt', '%2e/hello.txt', 'sub/.',
        'sub/%2e/', 'sub%2finner.txt', 'sub%2Finner.txt', 'sub%5cinner.txt', 'sub\\inner.txt', 'sub%c0%afinner.txt',
        '%00', 'hello.txt%00', '%00hello.txt', 'hello.txt%00.jpg', 'sub%00/inner.txt', 'hello.txt/', 'hello.txt//',
        'hello.txt/x', 'hello%', 'hello%2', 'hello%zz.txt', 'hello.txt%', '%hello.txt', 'HELLO.TXT', 'hello.txt%20',
        'hello.txt.', 'hello.txt::$DATA', 'backup.tar.gz//etc/hosts', 'backup.tar.gz/etc//hosts',
        'backup.tar.gz/./etc/hosts', 'backup.tar.gz/etc%2fhosts', 'backup.tar.gz/missing', 'backup.tar.gz/etc/hosts/x'))
    yield from ('//' + base[1:] + 'hello.txt', '/.' + base + 'hello.txt', base.replace('/', '//') + 'hello.txt',
                base[1:] + 'hello.txt', 'hello.txt', '*', '?', '\\', 'http:', 'http://', 'http:///',
                'file:///etc/passwd')


def machine_targets(base, outside):
    for path in (f'{outside}/secret.txt', '/etc/passwd', '/proc/self/environ', '/proc/self/cmdline', '/proc/self/maps',
                 '/proc/self/root/etc/passwd', '/dev/stdin', '/dev/fd/0', '/dev/zero', '/sys/kernel/notes'):
        yield from (path, '/' + path, 'file://' + path, '//localhost' + path)
        yield from (base + name for name in (
            path, path[1:], 'sub/' + path, urllib.parse.quote(path, safe=''), path.replace('/', '\\'),
            path.replace('/', '%5c'), 'file:' + path, 'backup.tar.gz/' + path, '%00' + path))


def link_targets(base, tree):
    for name, target in tree.links.items():
        yield from (base + name, base + name + '/', base + name + '/secret.txt', base + name + '/hello.txt',
                    base + name + '/deep/secret.txt', base + name + '?format=json', base + name + '/?format=json')
    yield from (base + name for name in (
        'to-folder/deep/', 'loop/loop/loop/hello.txt', 'sub/up/hello.txt', 'sub/up/to-file', 'to-root/etc/passwd',
        'sub/deep/out/folder/secret.txt', f'to-root{tree.outside}/secret.txt', 'to-proc/environ', 'to-proc/fd/0',
        'to-proc/root/', 'inside-folder/inner.txt', 'chain-folder/secret.txt', 'fifo', 'fifo/', 'fifo/x',
        'fifo?format=json', 'socket', 'socket/'))


def tokenless_requests(prober):
    """Requests without the token, or with a token that is almost right."""
    token, rest = prober.token, 'served/hello.txt'
    other = ('0' if token[0] != '0' else '1') + token[1:]
    targets = [
        '/', '/?', '/;', '/%2f', '//', '/served', '/served/', f'/{rest}', f'//{rest}', '/favicon.ico', '/robots.txt',
        f'/{other}/', f'/{other}/{rest}', f'/{token[:-1]}/{rest}', f'/{token[:-1]}', f'/{token[:-1]}*/{rest}',
        f'/{token[:-1]}%/{rest}', f'/{token}0/{rest}', f'/{token}%00/{rest}', f'/{token}%20/{rest}',
        f'/%20{token}/{rest}', f'/.{token}/{rest}', f'/{token}./{rest}', f'/{rest}?{token}', f'/{rest}?token={token}',
        f'/{rest}/{token}', f'/x/{token}/{rest}', f'/{rest}#{token}', f'/{"0" * 32}/{rest}', f'/{token[::-1]}x/{rest}',
        f'/{token}{token}/{rest}']
    yield from map(prober.head, targets)
    for field in (f'Authorization: Bearer {token}', f'Cookie: token={token}', f'Referer: http://{prober.host}/{token}/',
                  f'X-Original-URL: /{token}/{rest}', f'X-Rewrite-URL: /{token}/{rest}'):
        yield prober.head(f'/{rest}', fields=[field.encode()])


def malformed_heads(prober):
    """Heads that are malformed, or a danger behind a proxy that reads them in another way."""
    good, host = (prober.base + 'hello.txt').encode(), b'Host: ' + prober.host.encode()
    start = b'GET ' + good + b' HTTP/1.1'
    fields = [
        [], [host, host], [host, b'Host: other.example'], [b'Host: a b'], [b'Host: a/b'], [b' ' + host],
        [host, b'Name : value'], [host, b'no colon'], [host, b': no name'], [host, b'Na me: value'],
        [host, b'N\x00me: value'], [host, b'Content-Length: 5', b'Content-Length: 6'],
        [host, b'Content-Length: 5', b'Transfer-Encoding: chunked'], [host, b'Transfer-Encoding: chunked, identity'],
        [host, b'Transfer-Encoding: xchunked'], [host, b'Transfer-Encoding: chunked', b'Transfer-Encoding: identity']]
    fields += [[host, b'Content-Length: ' + value] for value in (
        b'', b'-1', b'+5', b'0x5', b'5, 6', b'five', b'1 0', b'99999999999999999999999')]
    yield from (b'\r\n'.join([start, *lines, b'', b'']) for lines in fields)
    get, version = b'GET ' + good, b' HTTP/1.1'
    lines = [get + end for end in (
        b'', b' x' + version, version + b' x', b'\x00' + version, b'\xff' + version, b'\x7f' + version, b' http/1.1',
        b' HTTP/1.10', b' HTTP/11', b' HTTP/a.b', b' HTTP/9.9', b' HTTP/0.9', b' ICY/1.1')]
    lines += [start + version for start in (
        b' ' + get, b'G\x00T ' + good, b'CONNECT 127.0.0.1:22', b'OPTIONS *', b'GET *', b'TRACE ' + good,
        b'POST ' + good, b'M' * 5000 + b' /')]
    lines += [b'GET', b'PRI * HTTP/2.0', b'{"json": 1}', b'SSH-2.0-x', b'\x16\x03\x01\x02\x00\x01\x00', b'\x00' * 20]
    for line in lines:
        yield b'\r\n'.join([line, host, b'', b''])


def lenient_heads(prober):
    """Heads that RFC 9112 allows a server to refuse, or to read as if they were well-formed."""
    get, version = f'GET {prober.base}hello.txt'.encode(), b' HTTP/1.1'
    host = b'Host: ' + prober.host.encode()
    for line in (get.replace(b' ', b'  ') + version, get + b' ' + version, get.replace(b' ', b'\t') + version,
                 b'\r\n' + get + version):
        yield b'\r\n'.join([line, host, b'', b''])
    for field in (b' folded: value', b'Name: val\x00ue', b'Name: val\rue', b'Name: val\x7fue', b'Content-Length: 0, 0'):
        yield b'\r\n'.join([get + version, host, field, b'', b''])


def large_heads(prober):
    """Heads that are larger than any good one."""
    target, host = prober.base + 'hello.txt', b'Host: ' + prober.host.encode()
    yield from map(prober.head, (prober.base + 'x' * 100_000, prober.base + 'x/' * 50_000, prober.base + '../' * 30_000,
                                 prober.base + '%2e%2e/' * 15_000, target + '?' + 'x' * 1_000_000, '/' * 100_000))
    for fields in ([b'Name: ' + b'x' * 1_000_000], [b'N' * 1_000_000 + b': x'], [b'Cookie: x'] * 50_000,
                   [b'N%d: x' % number for number in range(50_000)], [b'Range: bytes=' + b'0-0,' * 250_000]):
        yield prober.head(target, fields=fields)
    yield b'GET ' + target.encode() + b' HTTP/1.1\r\n' + host + b'\r\n' + b'X: ' + b'x' * 3_000_000


# ---------------------------------------------------------------------------------------------------------------------
# The checks


def check_targets(blob, tree):
    server = BlobServer(blob, tree.served)
    try:
        prober = Prober(server, tree)
        base = prober.base
        good = ('', '?format=json', 'hello.txt', 'hard.txt', 'sub/', 'sub/inner.txt', 'backup.tar.gz/',
                'backup.tar.gz/etc/hosts', 'hello.txt?../../x')
        prober.judge('good targets', [server.path, *(base + name for name in good)], [200])
        prober.judge('an absolute target', [f'http://{prober.host}{base}hello.txt'], [200])
        prober.judge('targets that climb', climbing_targets(base))
        prober.judge('odd targets', odd_targets(base))
        prober.judge('targets with a fragment', [
            base + name for name in ('hello.txt#x', '#x', 'backup.tar.gz#etc/hosts')])
        check_messages(prober)
        prober.judge('absolute targets that climb', (
            f'http://{prober.host}{base}{up}/outside/secret.txt' for up in UPS))
        prober.judge('paths of the machine', machine_targets(base, tree.outside))
        prober.judge('links, a FIFO and a socket', link_targets(base, tree))
        # The archive is corrupted, because the target of its hard link is not in it.
        prober.judge('links and devices in an archive', [
            base + 'backup.tar.gz/' + name
            for name in ('link', 'relative', 'folder/secret.txt', 'folder/', 'hard', 'device')],
            [*CLIENT_ERRORS, 500])
        prober.judge('unsafe names in an archive', [
            base + 'backup.tar.gz/' + name
            for name in ('../outside/secret.txt', '%2e%2e/outside/secret.txt', '/etc/passwd', 'a/../../b', 'etc/passwd',
                         'outside/secret.txt', 'b')], range(200, 500))
        prober.judge('no token, or a wrong one', tokenless_requests(prober))
        prober.judge('malformed heads', malformed_heads(prober), [*CLIENT_ERRORS, 501, 505], closing_is_allowed=True)
        prober.judge('heads that may be read leniently', lenient_heads(prober), [200, *CLIENT_ERRORS])
        prober.judge('large heads', large_heads(prober), closing_is_allowed=True)
        check_listing(prober)
        check_redirection(prober)
        check_bodies(prober, tree)
        check(not prober.leaks, f'no secret is in {prober.count} answers')
        for request in prober.leaks[:5]:
            print(f'    {request[:300]}')
        check(not prober.paths, 'no path of the machine is in an error')
        for request in prober.paths[:5]:
            print(f'    {request[:300]}')
        prober.judge('good targets afterwards', [base + 'hello.txt'], [200])
    finally:
        check_end(server)


def check_end(server):
    is_running = server.process.poll() is None
    status = server.stop()
    is_right = is_running and status in (0, -signal.SIGTERM)
    if not check(is_right, f'the server ran until SIGTERM; its status is {status}'):
        print(server.last_messages())


def check_messages(prober):
    """A message with an escape sequence of a request would control the terminal that shows it."""
    prober.judge('targets with control characters', [prober.base + name for name in (
        '%1b[2J', 'hello.txt/%1b[2J', 'backup.tar.gz/%1b]0;title%07', 'hello.txt/%0ablob: forged', 'to-file%0d%1b[A',
        'hello.txt/%c2%9b2J', 'missing%7f%08%08', '%1b[2J/x')])
    messages = prober.server.all_messages().decode(errors='replace')
    found = {letter for letter in messages if letter != '\n' and (letter < ' ' or '\x7f' <= letter <= '\x9f')}
    found |= {word for word in ('\nblob: forged',) if word in messages}
    check(not found, f'no control characters are in the messages of the server {found or ""}')


def entries_of(answer):
    return json.loads(answer.body)['entries'] if answer and answer.status == 200 else []


def check_listing(prober):
    answer, _ = prober.exchange(prober.head(prober.base + 'odd/'))
    check(answer and answer.status == 200 and not any(text in answer.body for text in (b'<img', b'"><b>', b'<script')),
          'names are escaped in the HTML of a listing')
    answer, seconds = prober.exchange(prober.head(prober.base + '?format=json'))
    names = {entry['name'].rstrip('/') for entry in entries_of(answer)}
    check({'hello.txt', 'sub', 'small.bin'} <= names and seconds < LIMIT,
          f'a folder with links, a FIFO and a socket is listed in {seconds:.3f} s')
    answer, _ = prober.exchange(prober.head(prober.base + 'odd/?format=json'))
    folder, contents = 'http://' + prober.host + prober.base + 'odd/', set()
    for entry in entries_of(answer):
        target = urllib.parse.urlsplit(urllib.parse.urljoin(folder, entry['href']))
        answer, _ = prober.exchange(prober.head(target.path + ('?' + target.query if target.query else '')))
        contents.add(answer.body if answer and answer.status == 200 else None)
    missing = [name for name in ODD_NAMES if b'content of ' + name not in contents]
    check(not any(map(is_text, missing)) and None not in contents,
          f'{len(contents)} of {len(ODD_NAMES)} files with odd names are read by their links in a list; not: {missing}')
    wrong = []
    for name in ODD_NAMES:
        answer, _ = prober.exchange(prober.head(prober.base + 'odd/' + urllib.parse.quote(name, safe='')))
        is_right = answer and answer.status == 200 and answer.body == b'content of ' + name
        if not is_right and (is_text(name) or not answer or answer.status != 404):
            wrong.append((name, answer and answer.status))
        if answer and 'x-injected' in answer.fields:
            wrong.append((name, 'a name became a field'))
    check(not wrong, f'files with odd names are read by their encoded names; not: {wrong}')


def check_redirection(prober):
    answer, _ = prober.exchange(prober.head(prober.base + 'new%0Afolder'))
    location = answer and answer.field('location') or ''
    target = urllib.parse.urljoin(f'http://{prober.host}{prober.base}', location)
    check(answer and answer.status in (301, 308) and target == f'http://{prober.host}{prober.base}new%0Afolder/',
          f'a redirection to a folder has an encoded name: {location!r}')
    wrong = []
    for target in ('//evil.example/sub', '//evil.example', '/\\evil.example/sub', '///evil.example/..',
                   '//evil.example%2f..', f'//evil.example{prober.base}sub', f'http://evil.example{prober.base}sub',
                   'http://evil.example/sub'):
        answer, _ = prober.exchange(prober.head(target))
        location = answer and answer.field('location') or ''
        if urllib.parse.urlsplit(urllib.parse.urljoin(f'http://{prober.host}/', location)).netloc != prober.host:
            wrong.append((target, location))
    check(not wrong, f'no redirection leads to another host {wrong or ""}')


def check_bodies(prober, tree):
    """A body must not be read as a request: that would be request smuggling."""
    inner = prober.head(prober.base + 'hello.txt')
    outer = prober.head(prober.base + 'small.bin')
    chunked = b'%x\r\n%b\r\n0\r\n\r\n' % (len(inner), inner)
    for label, field, body in (('Content-Length', b'Content-Length: %d' % len(inner), inner),
                               ('chunks', b'Transfer-Encoding: chunked', chunked)):
        for method in ('GET', 'POST'):
            connection, answers = Connection(prober.server.address, LIMIT), []
            try:
                connection.send(prober.head(prober.base + 'sub/inner.txt', method, [field]) + body + outer)
                while connection.socket and len(answers) < 3:
                    answers.append(connection.answer('GET'))
            except (ConnectionError, TimeoutError):
                pass  # There is no further answer.
            connection.close()
            first, *others = answers or [None]
            is_right = first and (first.body == b'inner\n' if first.status == 200 else first.status in CLIENT_ERRORS)
            check(is_right and [other.body for other in others] in ([], [tree.small]),
                  f'a body of {label} with {method} is not read as a request: {[answer.status for answer in answers]}')


def check_hosts(blob, tree):
    """Without a token, only names of this machine are served: another may be that of a hostile page (DNS rebinding)."""
    server = BlobServer(blob, tree.served, '--no-token')
    try:
        prober = Prober(server, tree)
        check(server.path == '/', f'without a token, the URL has none: {server.path}')
        port = server.address[1]

        def heads(*hosts):
            return [f'GET /served/hello.txt HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode() for host in hosts]

        prober.judge('names of this machine', heads(
            f'127.0.0.1:{port}', f'localhost:{port}', f'LOCALHOST:{port}'), [200])
        prober.judge('other names', heads(
            'evil.example', f'evil.example:{port}', f'127.0.0.1.evil.example:{port}', f'localhost.evil.example:{port}',
            f'evil.example@127.0.0.1:{port}', f'127.0.0.1:{port}@evil.example', f'127.0.0.1:{port}.evil.example', '',
            f'[::ffff:8.8.8.8]:{port}', f'8.8.8.8:{port}', f'localhost\x00.evil.example:{port}'))
        prober.judge('another name in an absolute target', [
            f'GET http://evil.example:{port}/served/hello.txt HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n'.encode()])
        prober.judge('no token, targets that climb', (
            f'/served/{up}{separator}outside{separator}secret.txt' for up in UPS for separator in SEPARATORS))
        check(not prober.leaks, f'no secret is in {prober.count} answers without a token')
    finally:
        check_end(server)


def exchange_names(first, second):
    os.rename(first, first + '.aside')
    os.rename(second, first)
    os.rename(first + '.aside', second)


def check_swaps(blob, tree, count):
    """Files and folders become links to the secret, and files and folders again, while they are read."""
    swap, outside = f'{tree.served}/swap', tree.outside
    os.makedirs(f'{swap}/folder/deep')
    for name in ('file', 'folder/secret.txt', 'folder/deep/secret.txt', 'folder/harmless'):
        write(f'{swap}/{name}', b'harmless\n' * 20)
    make_tar(f'{swap}/archive.tar.gz', [('secret.txt', b'harmless\n' * 20)])
    hidden = f'{tree.root}/hidden'  # Beside the served folder, on the same file system.
    os.mkdir(hidden)
    pairs = [(f'{swap}/{name}', f'{hidden}/{name}') for name in ('file', 'folder', 'archive.tar.gz')]
    for (_, link), target in zip(pairs, ('secret.txt', 'folder', 'secret.tar.gz')):
        os.symlink(f'{outside}/{target}', link)
    targets = ['file', 'folder/secret.txt', 'folder/deep/secret.txt', 'folder/?format=json', 'folder/deep/?format=json',
               'archive.tar.gz', 'archive.tar.gz/secret.txt', 'archive.tar.gz/?format=json']
    outcomes, swaps, is_over = {target: collections.Counter() for target in targets}, [0], threading.Event()

    def exchange():
        while not is_over.is_set():
            for first, second in pairs:
                exchange_names(first, second)
                swaps[0] += 1

    server = BlobServer(blob, tree.served)
    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        prober = Prober(server, tree)
        start, slowest = time.monotonic(), 0
        while swaps[0] < count or min(map(min_of_both, outcomes.values())) < 100 and time.monotonic() < start + 30:
            for target in targets:
                answer, seconds = prober.exchange(prober.head(f'{prober.base}swap/{target}'))
                outcomes[target][answer.status if answer else 'no answer'] += 1
                slowest = max(slowest, seconds)
            prober.exchange(prober.head(f'{prober.base}swap/?format=json'))
    finally:
        is_over.set()
        thread.join()
        check_end(server)
    found = collections.Counter()
    for outcome in outcomes.values():
        found.update(outcome)
    check(not prober.leaks,
          f'the secret is in none of {prober.count} answers during {swaps[0]} swaps; the slowest took {slowest:.3f} s')
    for request in prober.leaks[:5]:
        print(f'    {request[:300]}')
    never = [target for target in targets if not min_of_both(outcomes[target])]
    check(not never, f'swaps were seen: {dict(found)}{", but not of " + str(never) if never else ""}')
    wrong = [status for status in found if status not in (200, *CLIENT_ERRORS)]
    check(not wrong, f'each read was answered with 200 or 4xx {wrong or ""}')


def min_of_both(outcome):
    """How often the rarer of success and refusal was seen."""
    return min(outcome[200], sum(outcome.values()) - outcome[200])


# ---------------------------------------------------------------------------------------------------------------------
# Many connections


def memory(process):
    """The peak resident memory of a process in MiB."""
    with open(f'/proc/{process.pid}/status') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmHWM:')) / 1024


def descriptors(process):
    return len(os.listdir(f'/proc/{process.pid}/fd'))


def processor_seconds(process):
    with open(f'/proc/{process.pid}/stat') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def kernel_memory():
    """The memory of the buffers of all TCP sockets of this machine, in MiB."""
    with open('/proc/net/sockstat') as file:
        words = next(line for line in file if line.startswith('TCP:')).split()
    return int(words[words.index('mem') + 1]) * resource.getpagesize() / (1 << 20)


def percentile(values, percent):
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def good_client(pipe, address, target, content):
    """Asks for a file as often as told, in turn on a kept and on a new connection; returns the seconds of both."""
    while count := pipe.recv():
        kept, seconds, wrong = Connection(address), ([], []), 0
        for number in range(count):
            is_new = number % 2
            connection = Connection(address) if is_new else kept
            start = time.perf_counter()
            try:
                answer = connection.ask('GET', target)
                wrong += answer.status != 200 or answer.body != content
            except (OSError, ValueError):
                wrong += 1
                connection.close()
            seconds[is_new].append(time.perf_counter() - start)
            if is_new:
                connection.close()
        kept.close()
        pipe.send((*seconds, wrong))


def latencies(kept, new):
    both = kept + new
    percentiles = [percentile(values, 99) * 1000 for values in (both, kept, new)]
    return ('99% within {:.1f} ms (on the kept connection {:.1f}, on new ones {:.1f}), '.format(*percentiles)
            + f'half within {percentile(both, 50) * 1000:.1f} ms, all within {max(both) * 1000:.1f} ms')


class Herd:
    """Hostile connections: a third reads nothing of an answer, a third sends nothing, a third sends a head slowly."""

    KINDS = ('unread', 'silent', 'slow')

    def __init__(self, server, base):
        self.server, self.base = server, base
        self.selector = selectors.DefaultSelector()
        self.members = {kind: {} for kind in self.KINDS}  # The time of the connection, by its socket.
        self.lives = {kind: [] for kind in self.KINDS}  # The seconds until the server closed the connection.
        self.sent = {}  # The bytes of the heads sent, by the socket.
        self.timed_out, self.next_byte = 0, time.monotonic()

    def open(self, count):
        for number in range(count):
            kind = self.KINDS[number * len(self.KINDS) // count]
            member = socket.socket()
            member.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            if number >= 20_000:  # More than the ports of one address.
                member.bind((f'127.0.0.{1 + number // 20_000}', 0))
            member.settimeout(PATIENCE)
            member.connect(self.server.address)
            self.members[kind][member] = time.monotonic()
            if kind == 'unread':
                member.sendall(f'GET {self.base}huge.bin HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.encode())
            else:
                self.selector.register(member, selectors.EVENT_READ, kind)
            if kind == 'slow':
                self.sent[member] = 0
            member.setblocking(False)
            if number % 60 == 59:
                # Once a later connection is served, those before are accepted: the server's backlog never overflows.
                probe = Connection(self.server.address)
                probe.ask('HEAD', self.base + 'hello.txt')
                probe.close()
                self.turn(0)

    def turn(self, seconds):
        """Waits for events, at most until the next bytes of the heads are due; returns other files that are ready."""
        now = time.monotonic()
        if now >= self.next_byte:
            self.next_byte = now + 1
            for member in list(self.members['slow']):
                head = f'GET {self.base}small.bin HTTP/1.1\r\nHost: 127.0.0.1\r\nX: '.encode()
                try:
                    member.send(head[self.sent[member]:][:1] or b'x')
                    self.sent[member] += 1
                except OSError:
                    self.receive(member, 'slow')
        others = []
        for key, _ in self.selector.select(max(0, min(seconds, self.next_byte - now))):
            if key.data is None:
                others.append(key.fileobj)
            elif key.fileobj in self.members[key.data]:
                self.receive(key.fileobj, key.data)
        return others

    def receive(self, member, kind):
        try:
            bytes = member.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            bytes = b''
        self.timed_out += bytes.startswith(b'HTTP/1.1 408')
        if not bytes:
            self.lives[kind].append(time.monotonic() - self.members[kind].pop(member))
            self.selector.unregister(member)
            member.close()

    def count(self, *kinds):
        return sum(len(self.members[kind]) for kind in kinds or self.KINDS)

    def drain(self, member):
        """Reads until the server's end of a connection; returns the number of bytes."""
        member.settimeout(LIMIT)
        count = 0
        try:
            while bytes := member.recv(1 << 20):
                count += len(bytes)
        except ConnectionError:
            pass
        return count

    def close(self):
        for members in self.members.values():
            for member in members:
                member.close()
        self.selector.close()


def raise_limit(count):
    """Raises the number of descriptors that this process, and the server after it, may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * count + 500  # The server has more than one for each response.
    if wanted <= soft or soft == resource.RLIM_INFINITY:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    except (ValueError, OSError):
        if hard < count + 500:
            sys.exit(f'{count} connections need {wanted} descriptors, and the limit is {hard} (ulimit -Hn).')
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def check_connections(blob, tree, count):
    raise_limit(count)
    server = BlobServer(blob, tree.served, '--max-connections', str(max(20_000, count + 100)),
                        '--header-timeout', str(HEADER_TIMEOUT), '--idle-timeout', str(IDLE_TIMEOUT))
    base = server.path + 'served/'
    # Another process, so that its times are not those of this one; before there are connections that it would inherit.
    pipe, end = multiprocessing.Pipe()
    client = multiprocessing.get_context('fork').Process(
        target=good_client, args=(end, server.address, base + 'small.bin', tree.small), daemon=True)
    client.start()
    herd = None
    try:
        pipe.send(200)
        kept, new, wrong = pipe.recv()
        kernel_before = kernel_memory()
        memory_before, descriptors_before = memory(server.process), descriptors(server.process)
        check(not wrong, f'a good client alone: {latencies(kept, new)}')
        herd, start = Herd(server, base), time.monotonic()
        herd.open(count)
        herd.turn(0)
        seconds = time.monotonic() - start
        check(herd.count() == count, f'{herd.count()} of {count} hostile connections are open after {seconds:.1f} s; '
                                     f'the server has {descriptors(server.process)} descriptors')
        herd.selector.register(pipe, selectors.EVENT_READ)
        start, processor = time.monotonic(), processor_seconds(server.process)
        pipe.send(500)
        while pipe not in herd.turn(60):
            pass
        kept, new, wrong = pipe.recv()
        herd.selector.unregister(pipe)
        buffered = kernel_memory() - kernel_before
        print(f'figure: the buffers of the sockets have {buffered:.0f} MiB in the kernel', flush=True)
        seconds, processor = time.monotonic() - start, processor_seconds(server.process) - processor
        check(not wrong and percentile(kept + new, 99) < LATENCY_LIMIT,
              f'a good client beside them, 500 requests in {seconds:.1f} s: {latencies(kept, new)}; {wrong} wrong; '
              f'{herd.count()} hostile ones are left; the server used {processor:.1f} s of processor time')
        finish_herd(herd, server, descriptors_before, memory_before, count)
        answer = Connection(server.address, LIMIT).ask('GET', base + 'hello.txt')
        check(answer.status == 200 and answer.body == b'hello\n', 'the server answers normally afterwards')
    finally:
        pipe.send(0)
        client.join()
        if herd:
            herd.close()
        check_end(server)


def finish_herd(herd, server, descriptors_before, memory_before, count):
    """Waits until the server has ended the hostile connections."""
    deadline = time.monotonic() + max(HEADER_TIMEOUT, IDLE_TIMEOUT) + 15
    while herd.count('slow', 'silent') and time.monotonic() < deadline:
        herd.turn(1)
    for kind, limit in (('slow', HEADER_TIMEOUT), ('silent', max(HEADER_TIMEOUT, IDLE_TIMEOUT))):
        lives = herd.lives[kind] or [math.inf]
        check(not herd.count(kind) and HEADER_TIMEOUT - 2 < min(lives) and max(lives) < limit + 5,
              f'{len(herd.lives[kind])} {kind} connections were ended after {min(lives):.1f} to {max(lives):.1f} s, '
              f'{herd.count(kind)} were not')
    check(True, f'{herd.timed_out} of them were answered with 408')
    # That the server ended a connection whose buffers are full cannot be seen on it, but its descriptors are fewer.
    while descriptors(server.process) > descriptors_before + 10 and time.monotonic() < deadline:
        herd.turn(0.5)
    left = descriptors(server.process) - descriptors_before
    check(left <= 10, f'{herd.count("unread")} unread connections were ended: the server has {left} descriptors more '
                      'than before')
    if left <= 10 and herd.count('unread'):
        drained = max(herd.drain(member) for member in list(herd.members['unread'])[:50])
        check(drained < HUGE, f'at most {drained} bytes of {HUGE} had been sent on them')
    peak = memory(server.process)
    print(f'figure: the peak of the memory is {peak:.1f} MiB, {memory_before:.1f} before: '
          f'{(peak - memory_before) * 1024 / count:.1f} KiB a connection', flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# Floods and endless bodies


def check_floods(blob, tree):
    server = BlobServer(blob, tree.served)
    try:
        check_pipeline(server, server.path + 'served/')
        check_backpressure(server, server.path + 'served/')
        answer = Connection(server.address, LIMIT).ask('GET', server.path + 'served/hello.txt')
        check(answer.status == 200, 'the server answers normally after the floods')
    finally:
        check_end(server)


def check_pipeline(server, base):
    """10,000 requests on one connection, sent while the answers are read."""
    connection = Connection(server.address)
    connection.send(b'')
    head = f'GET {base}numbers.bin HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes='
    requests = ''.join(f'{head}{4 * number}-{4 * number + 3}\r\n\r\n' for number in range(10_000)).encode()

    def send():
        try:
            connection.socket.sendall(requests)
        except OSError:
            pass  # The reader reports it.

    start, thread, number = time.monotonic(), threading.Thread(target=send), 0
    thread.start()
    try:
        while number < 10_000:
            answer = connection.answer('GET')
            if answer.status != 206 or answer.body != struct.pack('>I', number):
                break
            number += 1
        text = ''
    except (OSError, ValueError) as error:
        text = f', then: {error}'
    if connection.socket:
        connection.socket.shutdown(socket.SHUT_RDWR)  # Ends a send that blocks.
    thread.join()
    connection.close()
    seconds = time.monotonic() - start
    check(number == 10_000, f'{number} of 10,000 pipelined requests were answered in order in {seconds:.1f} s{text}')


def check_backpressure(server, base):
    """A client that sends requests, and reads no answer: the server must stop reading."""
    before = memory(server.process)
    request = f'GET {base}small.bin HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.encode() * 100
    with socket.create_connection(server.address) as client, selectors.DefaultSelector() as selector:
        client.setblocking(False)
        selector.register(client, selectors.EVENT_WRITE)
        sent, limit, is_stopped = 0, 40_000_000, False
        while sent < limit and not is_stopped:
            is_stopped = not selector.select(LIMIT)
            try:
                sent += client.send(request)
            except BlockingIOError:
                pass
            except OSError:
                break
    growth = memory(server.process) - before
    check(sent < limit and growth < 64, f'unread answers stop the server from reading: {sent} bytes of requests were '
                                        f'taken, the memory grew by {growth:.1f} MiB')


def check_endless_bodies(blob, tree):
    """Announced bodies that do not come, or come slowly for ever, hold a connection no longer than the timeouts."""
    header_timeout, idle_timeout, copies = 2, 3, 20
    server = BlobServer(blob, tree.served, '--header-timeout', str(header_timeout), '--idle-timeout', str(idle_timeout))
    base = server.path + 'served/'
    length, chunked, expect = 'Content-Length: 1000000000000', 'Transfer-Encoding: chunked', 'Expect: 100-continue'
    kinds = {}  # What is sent at first, and what then each tenth of a second.
    for method in ('GET', 'HEAD', 'POST'):
        for fields, rest in (([length], b''), ([length], b'x'), ([chunked], b''), ([chunked], b'1\r\nx\r\n'),
                             ([length, expect], b''), ([], b'')):
            lines = [f'{method} {base}hello.txt HTTP/1.1', 'Host: 127.0.0.1', *fields, '', '']
            name = f'{method}, {", ".join(fields) or "no body"}, {"slow bytes" if rest else "then nothing"}'
            kinds[name] = '\r\n'.join(lines).encode(), rest
    before, limit = descriptors(server.process), header_timeout + idle_timeout + 3
    selector, clients = selectors.DefaultSelector(), {}
    lives, statuses = {kind: [] for kind in kinds}, {kind: {} for kind in kinds}
    try:
        start = time.monotonic()
        for kind, (request, _) in kinds.items():
            for _ in range(copies):
                client = socket.create_connection(server.address)
                client.sendall(request)
                client.setblocking(False)
                selector.register(client, selectors.EVENT_READ)
                clients[client] = kind
        # The clients close nothing, and those that send do not stop at the end of an answer.
        while selector.get_map() or descriptors(server.process) > before + 5:
            seconds = time.monotonic() - start
            if seconds > 60:
                break
            for key, _ in selector.select(0.1):
                client, kind = key.fileobj, clients[key.fileobj]
                try:
                    bytes = client.recv(4096)
                except OSError:
                    bytes = b''
                if bytes:
                    statuses[kind].setdefault(client, bytes[9:12].decode('latin-1'))
                else:
                    lives[kind].append(time.monotonic() - start)
                    selector.unregister(client)
            for client, kind in clients.items():
                try:
                    client.send(kinds[kind][1])
                except OSError:
                    pass
        for kind in kinds:
            found = collections.Counter(statuses[kind].values())
            longest = max(lives[kind], default=math.inf)
            is_right = set(found) <= {'100', '200', '400', '405', '408', '411', '413', '417'}
            check(is_right and len(lives[kind]) == copies and longest < limit,
                  f'{kind}: {len(lives[kind])} of {copies} connections were ended, after at most {longest:.1f} s, with '
                  f'{dict(found)}')
        left = descriptors(server.process) - before
        check(left <= 5 and seconds < limit,
              f'after {seconds:.1f} s of endless bodies, the server has {left} descriptors more than before')
        answer = Connection(server.address, LIMIT).ask('GET', base + 'hello.txt')
        check(answer.status == 200, 'the server answers normally after the endless bodies')
    finally:
        for client in clients:
            client.close()
        selector.close()
        check_end(server)


def check_limits(blob, tree):
    """More connections than the server has places or descriptors for: it must wait without work, and then go on."""
    for label, option, descriptor_limit in (('places', '8', None), ('descriptors', '1000', 50)):
        server = BlobServer(
            blob, tree.served, '--max-connections', option, '--header-timeout', '4', '--idle-timeout', '4')
        if descriptor_limit:
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (descriptor_limit, descriptor_limit))
        start, processor = time.monotonic(), processor_seconds(server.process)
        silent = {socket.create_connection(server.address) for _ in range(60)}
        try:
            with selectors.DefaultSelector() as selector:
                for client in silent:
                    selector.register(client, selectors.EVENT_READ)
                while silent and time.monotonic() < start + 20:
                    for key, _ in selector.select(1):
                        try:
                            bytes = key.fileobj.recv(4096)
                        except ConnectionError:
                            bytes = b''
                        if not bytes:
                            selector.unregister(key.fileobj)
                            silent.remove(key.fileobj)
                            key.fileobj.close()
            seconds, processor = time.monotonic() - start, processor_seconds(server.process) - processor
            check(not silent and processor < 0.3 * seconds,
                  f'with a lack of {label}, {60 - len(silent)} of 60 silent connections were ended after '
                  f'{seconds:.1f} s, which took {processor:.2f} s of processor time')
            status, deadline = None, time.monotonic() + 5
            while status != 200 and time.monotonic() < deadline:
                try:
                    status = Connection(server.address, LIMIT).ask('GET', server.path + 'served/hello.txt').status
                except (OSError, ValueError) as error:
                    status = error
            check(status == 200, f'after a lack of {label}, a request is answered with {status}')
        finally:
            for client in silent:
                client.close()
            check_end(server)


CHECKS = {
    'targets': lambda options, tree: check_targets(options.blob, tree),
    'hosts': lambda options, tree: check_hosts(options.blob, tree),
    'swaps': lambda options, tree: check_swaps(options.blob, tree, options.swaps),
    'floods': lambda options, tree: check_floods(options.blob, tree),
    'bodies': lambda options, tree: check_endless_bodies(options.blob, tree),
    'limits': lambda options, tree: check_limits(options.blob, tree),
    'connections': lambda options, tree: check_connections(options.blob, tree, options.connections),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('blob')
    parser.add_argument('--connections', type=int, default=10_000, help='hostile connections at a time (default 10000)')
    parser.add_argument('--swaps', type=int, default=6000, help='replacements of a path by a link (default 6000)')
    parser.add_argument('--only', choices=CHECKS, help='the checks of this name only')
    options = parser.parse_args()
    root = os.path.realpath(tempfile.mkdtemp(prefix='serve-hostile-'))
    try:
        tree = Tree(root)
        for name in [options.only] if options.only else CHECKS:
            CHECKS[name](options, tree)
    finally:
        shutil.rmtree(root)
    print(f'{failures} checks FAILED' if failures else 'all checks passed')
    sys.exit(1 if failures else 0)


if __name__ == '__main__':
    main()
