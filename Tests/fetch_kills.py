#!/usr/bin/env python3
"""Kills `blob fetch` at random moments, and changes the content meanwhile: no file may be a mix of two contents.

fetch_kills.py BLOB [--kills N] [--bytes N] [--seed N]

Each download is killed (SIGKILL) up to five times. Of half of them the content is replaced at one of the kills; of half of
these by one of the same length and date, with another ETag. At the end the file must be the old or the new content as a
whole, the latter only after `changed` was reported and --restart-if-changed was given, and nothing else may be left.
"""
import argparse, os, random, re, signal, socketserver, subprocess, sys, tempfile, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer


class Content:
    def __init__(self, seed, count, tag, date):
        self.bytes, self.tag, self.date = random.Random(seed).randbytes(count), tag, date


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        content = self.server.content
        match = re.match(r'bytes=(\d+)-(\d*)', self.headers.get('Range', ''))
        condition = self.headers.get('If-Range')
        if match and (condition is None or condition in (content.tag, content.date)):
            start = int(match[1])
            end = min(len(content.bytes), int(match[2]) + 1) if match[2] else len(content.bytes)
            self.send_response(206)
            self.send_header('Content-Range', f'bytes {start}-{end - 1}/{len(content.bytes)}')
        else:
            start, end = 0, len(content.bytes)
            self.send_response(200)
        if content.tag:
            self.send_header('ETag', content.tag)
        self.send_header('Last-Modified', content.date)
        self.send_header('Content-Length', str(end - start))
        self.end_headers()
        try:
            for place in range(start, end, 1 << 16):
                piece = content.bytes[place:min(place + (1 << 16), end)]
                self.wfile.write(piece)
                with self.server.lock:
                    self.server.sent += len(piece)
                time.sleep(self.server.pause)  # So that a kill meets it.
        except OSError:
            self.close_connection = True


class Server(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass  # A client that was killed.


def start_server():
    server = Server(('127.0.0.1', 0), Handler)
    server.lock, server.sent, server.pause = threading.Lock(), 0, 0.0002
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f'http://127.0.0.1:{server.server_port}/content.bin'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('blob')
    parser.add_argument('--kills', type=int, default=100)
    parser.add_argument('--bytes', type=int, default=12_000_000)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    server, url = start_server()
    date = 'Wed, 01 Oct 2025 10:00:00 GMT'
    kills = downloads = changes = again = 0
    while kills < options.kills:
        downloads += 1
        count = options.bytes + chance.randrange(100_000)
        strong = chance.random() < 0.8
        old = Content(downloads, count, '"old"' if strong else None, date)
        server.content = old
        changes_now = chance.random() < 0.5
        same_looks = chance.random() < 0.5
        new = Content(-downloads, count if same_looks and strong else count + 17, '"new"' if strong else None,
                      date if same_looks and strong else 'Thu, 02 Oct 2025 10:00:00 GMT')
        with tempfile.TemporaryDirectory() as folder:
            arguments = [options.blob, 'fetch', '-q', '-C', folder, url]
            kills_left, sees_change, sent_before = chance.randrange(1, 6), False, server.sent
            change_at = chance.randrange(kills_left) if changes_now else None
            number = 0
            while True:
                process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                if number < kills_left:
                    # When some of the bytes were sent: an event, and not a time.
                    goal = server.sent + chance.randrange(1, options.bytes // 2)
                    while process.poll() is None and server.sent < goal:
                        time.sleep(0.0005)
                    if process.poll() is None:
                        process.send_signal(signal.SIGKILL)
                        kills += 1
                    if change_at == number:
                        server.content, changes = new, changes + 1
                    number += 1
                error = process.communicate()[1].decode()
                if process.returncode == 0:
                    break
                if process.returncode == 75 and 'changed' in error:
                    sees_change = True
                    if '--restart-if-changed' not in arguments:
                        arguments.insert(2, '--restart-if-changed')
                elif process.returncode != -signal.SIGKILL:
                    sys.exit(f'download {downloads}: status {process.returncode}: {error}')
            names = sorted(os.listdir(folder))
            if names != ['content.bin']:
                sys.exit(f'download {downloads}: left {names}')
            with open(f'{folder}/content.bin', 'rb') as file:
                found = file.read()
            if found != server.content.bytes and not (found == old.bytes and changes_now):
                sys.exit(f'download {downloads}: a mix of two contents')
            if not changes_now:
                again += server.sent - sent_before - len(old.bytes)
    print(f'{downloads} downloads, {kills} kills, {changes} changes: no mix, {again / max(kills, 1) / (1 << 20):.1f} MiB '
          f'sent again for each kill')


if __name__ == '__main__':
    main()
