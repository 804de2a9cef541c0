"""The servers that uses of `blob` read from and upload to, on 127.0.0.1."""
import http.client, http.server, json, os, re, subprocess, threading, urllib.parse


def request(url, path, expected, body=None):
    """Gets `expected`, or puts `body`; returns None if the request fails, and a text if success is claimed wrongly."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=20)
    try:
        connection.request('GET' if body is None else 'PUT', path, body)
        response = connection.getresponse()
        data = response.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    if response.status not in (200, 201):
        return None
    if body is None:
        return '' if data == expected else f'a response with {len(data)} bytes, or others'
    for report in map(json.loads, data.splitlines()):
        with open(report['file'], 'rb') as file:
            if file.read() == body:
                return ''
    return 'a body was taken for complete, and is not stored'


class Files(http.server.ThreadingHTTPServer):
    """Serves the files of a folder, with ranges."""
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(('127.0.0.1', 0), FileHandler)
        self.folder = folder
        self.url = f'http://127.0.0.1:{self.server_port}'
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        """Clients that fail are the purpose."""


class FileHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        with open(os.path.join(self.server.folder, os.path.basename(self.path)), 'rb') as file:
            data = file.read()
        wanted = re.match(r'bytes=(\d+)-(\d*)$', self.headers.get('Range', ''))
        first, end = (int(wanted[1]), int(wanted[2] or len(data)) + 1) if wanted else (0, len(data))
        part = data[first:end]
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header('Content-Range', f'bytes {first}-{first + len(part) - 1}/{len(data)}')
        self.send_header('ETag', '"one"')
        self.send_header('Content-Length', str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *words):
        pass


class Receiver:
    """A `blob-receive`, and the digests of what it reports as complete, by name."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, '--directory', folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = self.process.stdout.readline().decode().strip()
        self.digests = {}
        self.news = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            report = json.loads(line)
            with self.news:
                self.digests.setdefault(report['name'], []).append(report['sha256'])
                self.news.notify_all()

    def reports(self, name, patience):
        """The digests of a name; waits for the first one, at most `patience` seconds."""
        with self.news:
            self.news.wait_for(lambda: name in self.digests, patience)
            return self.digests.get(name, [])

    def stop(self):
        self.process.terminate()
        self.process.wait()
