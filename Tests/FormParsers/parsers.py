"""The parsers: each reads the body of a form from a file, and returns names, file names and SHA-256 digests."""
import asyncio, hashlib, importlib.util, json, os, shutil, socket, subprocess, threading, urllib.request, warnings

HERE = os.path.dirname(os.path.abspath(__file__))
MANY = 1 << 20  # More parts than any form has.


def digest(data):
    return hashlib.sha256(data).hexdigest()


def boundary(content_type):
    return content_type.split('boundary=')[1].encode()


# MARK: Python


def werkzeug(path, content_type):
    from werkzeug.formparser import FormDataParser
    with open(path, 'rb') as body:
        _, fields, files = FormDataParser(max_form_memory_size=None, max_form_parts=None, silent=False).parse(
            body, 'multipart/form-data', os.path.getsize(path), {'boundary': boundary(content_type).decode()})
    return ([(name, None, digest(value.encode())) for name, value in fields.items(multi=True)]
            + [(name, file.filename, digest(file.read())) for name, file in files.items(multi=True)])


def django(path, content_type):
    from django.conf import settings
    if not settings.configured:
        settings.configure(
            DATA_UPLOAD_MAX_NUMBER_FIELDS=None, DATA_UPLOAD_MAX_NUMBER_FILES=None, DATA_UPLOAD_MAX_MEMORY_SIZE=None)
    from django.core.files.uploadhandler import MemoryFileUploadHandler, TemporaryFileUploadHandler
    from django.http.multipartparser import MultiPartParser
    with open(path, 'rb') as body:
        fields, files = MultiPartParser(
            {'CONTENT_TYPE': content_type, 'CONTENT_LENGTH': os.path.getsize(path)}, body,
            [MemoryFileUploadHandler(), TemporaryFileUploadHandler()]).parse()
    return ([(name, None, digest(value.encode())) for name, values in fields.lists() for value in values]
            + [(name, file.name, digest(file.read())) for name, values in files.lists() for file in values])


def aiohttp(path, content_type):
    warnings.simplefilter('ignore')
    from aiohttp import MultipartReader, StreamReader, base_protocol

    async def read():
        stream = StreamReader(base_protocol.BaseProtocol(asyncio.get_running_loop()), 1 << 30)
        stream.feed_data(open(path, 'rb').read())
        stream.feed_eof()
        parts = []
        async for part in MultipartReader({'Content-Type': content_type}, stream):
            parts.append((part.name, part.filename, digest(await part.read())))
        return parts

    return asyncio.run(read())


def starlette(path, content_type):
    from starlette.datastructures import Headers
    from starlette.formparsers import MultiPartParser

    async def stream():
        with open(path, 'rb') as body:
            while piece := body.read(1 << 16):
                yield piece
        yield b''

    async def read():
        form = await MultiPartParser(
            Headers({'content-type': content_type}), stream(), max_files=MANY, max_fields=MANY).parse()
        return [
            (name, None, digest(value.encode())) if isinstance(value, str)
            else (name, value.filename, digest(await value.read())) for name, value in form.multi_items()]

    return asyncio.run(read())


def multipart(path, content_type):
    from multipart import MultipartParser
    with open(path, 'rb') as body:
        return [
            (part.name, part.filename, digest(part.raw)) for part in MultipartParser(
                body, boundary(content_type), os.path.getsize(path), part_limit=MANY, disk_limit=1 << 30)]


def falcon(path, content_type):
    from falcon.media.multipart import MultipartFormHandler, MultipartParseOptions
    handler = MultipartFormHandler(MultipartParseOptions())
    handler.parse_options.max_body_part_count = 0
    with open(path, 'rb') as body:
        return [
            (part.name, part.filename, digest(part.get_data() if part.filename is None else part.stream.read()))
            for part in handler.deserialize(body, content_type, os.path.getsize(path))]


def tornado(path, content_type):
    from tornado.httputil import ParseMultipartConfig, parse_multipart_form_data
    fields, files = {}, {}
    with open(path, 'rb') as body:
        parse_multipart_form_data(
            boundary(content_type), body.read(), fields, files, config=ParseMultipartConfig(max_parts=MANY))
    return ([(name, None, digest(value)) for name, values in fields.items() for value in values]
            + [(name, file.filename, digest(file.body)) for name, values in files.items() for file in values])


def cgi(path, content_type):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        from cgi import FieldStorage
    environment = {
        'REQUEST_METHOD': 'POST', 'CONTENT_TYPE': content_type, 'CONTENT_LENGTH': str(os.path.getsize(path))}
    with open(path, 'rb') as body:
        found = FieldStorage(body, environ=environment, keep_blank_values=True)
        return [
            (part.name, part.filename, digest(part.value.encode() if isinstance(part.value, str) else part.value))
            for part in found.list]


PYTHON = {
    'werkzeug': (werkzeug, 'werkzeug'), 'django': (django, 'django'), 'aiohttp': (aiohttp, 'aiohttp'),
    'starlette': (starlette, 'python_multipart'), 'multipart': (multipart, 'multipart'), 'falcon': (falcon, 'falcon'),
    'tornado': (tornado, 'tornado'), 'cgi': (cgi, 'cgi'),
}

# MARK: Programs


def program(*words):
    """Returns the reader that is a program, which prints JSON."""
    def read(path, content_type):
        run = subprocess.run([*words, path, content_type], capture_output=True, timeout=120)
        if run.returncode != 0:
            raise ValueError(run.stderr.decode(errors='replace').strip()[-200:])
        return json.loads(run.stdout)

    return read


class PHP:
    """The server of PHP: its command line reads no forms."""

    def __init__(self, php):
        with socket.socket() as found:
            found.bind(('127.0.0.1', 0))
            self.port = found.getsockname()[1]
        limits = {
            'max_input_vars': MANY, 'max_file_uploads': MANY, 'post_max_size': '1G', 'upload_max_filesize': '1G',
            'max_multipart_body_parts': MANY}
        self.server = subprocess.Popen(
            [php, '-n', *(word for name, value in limits.items() for word in ('-d', f'{name}={value}')),
             '-S', f'127.0.0.1:{self.port}', os.path.join(HERE, 'read.php')],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # It says on standard error that it has started, and in the end closes that.
        while (line := self.server.stderr.readline()) and b' started' not in line:
            pass
        threading.Thread(target=self.server.stderr.read, daemon=True).start()

    def __del__(self):
        self.server.terminate()
        self.server.wait()

    def __call__(self, path, content_type):
        with open(path, 'rb') as body:
            request = urllib.request.Request(
                f'http://127.0.0.1:{self.port}/', body.read(), {'Content-Type': content_type})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)


def available(folder):
    """Returns the parsers that are installed, by name, and the names of the others. Go is compiled in `folder`."""
    found, missing = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for name, (read, module) in PYTHON.items():
            if importlib.util.find_spec(module):
                found[name] = read
            else:
                missing.append(name)
    php, go, node = (shutil.which(name) for name in ('php', 'go', 'node'))
    if php:
        found['php'] = PHP(php)
    else:
        missing.append('php')
    if go:
        binary = os.path.join(folder, 'read-form')
        environment = {**os.environ, 'GOCACHE': os.path.join(folder, 'go'), 'GO111MODULE': 'off'}
        subprocess.run([go, 'build', '-o', binary, os.path.join(HERE, 'read.go')], check=True, env=environment)
        found['go'] = program(binary)
    else:
        missing.append('go')
    for name in ('busboy', 'undici'):
        script = os.path.join(HERE, f'{name}.js')
        # Debian keeps the modules of Node.js in a folder that others' builds of it do not know.
        os.environ.setdefault('NODE_PATH', '/usr/share/nodejs')
        if node and subprocess.run([node, script], capture_output=True).returncode == 0:
            found[name] = program(node, script)
        else:
            missing.append(name)
    return found, missing
