#!/usr/bin/env python3
"""Measures resumable uploads whose client or receiver is killed many times: the bytes sent again, and the time.

usage: Benchmarks/resumable.py BLOB [MEBIBYTES] [KILLS] [FOLDER]

BLOB is the command, beside blob-receive; the defaults are 1024 MiB, 50 kills and a temporary folder for all files. The
exit status is 1 if an upload did not arrive completely, or if 1 MiB or more was sent again per kill, apart from bytes
that a killed receiver had not stored.
"""

import glob
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import measuring

LIMIT = 1 << 20
BOUNDARY = "boundary-of-the-form"


class Relay:
    """Forwards connections to the receiver, and counts the bytes written to it."""

    def __init__(self):
        self.target = None
        self.byte_count = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for pair in [(client, server, True), (server, client, False)]:
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source, target, counts):
        buffer = memoryview(bytearray(1 << 16))
        try:
            while count := source.recv_into(buffer):
                sent = 0
                while sent < count:
                    step = target.send(buffer[sent:count])
                    sent += step
                    if counts:
                        with self.lock:
                            self.byte_count += step
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()


class Receiver:
    def __init__(self, program, folder):
        self.arguments = [program, "--directory", folder, "--listen"]
        self.port = 0
        self.start()

    def start(self):
        self.process = subprocess.Popen([*self.arguments, f"127.0.0.1:{self.port}"], stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().strip(b"/\n").split(b":")[-1])
        threading.Thread(target=self.process.stdout.readlines, daemon=True).start()

    def kill(self):
        self.process.kill()
        self.process.wait()


def stored(folder):
    """Returns the number of bytes of all incomplete uploads."""
    count = 0
    for path in glob.glob(f"{folder}/.*.upload"):
        try:
            count += os.stat(path).st_size
        except FileNotFoundError:
            pass
    return count


def digest(argv):
    """Returns the SHA-256 of a command's output."""
    hasher = hashlib.sha256()
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        while piece := process.stdout.read(1 << 20):
            hasher.update(piece)
    return hasher.hexdigest()


def measure(blob, folder, source, options, body, kills, kills_client):
    """Uploads once.

    Returns whether the upload arrived completely, the number of kills, the bytes sent again apart from the lost bytes,
    the bytes lost, and the seconds.
    """
    with tempfile.TemporaryDirectory(dir=folder) as store:
        relay = Relay()
        receiver = Receiver(os.path.join(os.path.dirname(os.path.abspath(blob)), "blob-receive"), store)
        relay.target = receiver.port
        state = os.path.join(store, ".state")
        arguments = [blob, "upload", *options, "--retry", "20", "--state", state, *source]
        arguments.append(f"http://127.0.0.1:{relay.port}/x")
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        began, lost, done, start = time.monotonic(), 0, 0, (0, 0)
        client = subprocess.Popen(arguments, **silent)
        for number in range(1, kills + 1):
            while stored(store) < body.byte_count * number // (kills + 1) and client.poll() is None:
                time.sleep(0.0005)
            if client.poll() is not None:
                break
            done += 1
            if kills_client:
                client.kill()
                client.wait()
                client = subprocess.Popen(arguments, **silent)
            else:
                receiver.kill()
                # The bytes that were sent to the receiver but not stored.
                lost += relay.byte_count - start[0] - (stored(store) - start[1])
                start = relay.byte_count, stored(store)
                receiver.start()
        status = client.wait()
        seconds = time.monotonic() - began
        receiver.kill()
        names = [name for name in os.listdir(store) if not name.startswith(".")]
        whole = status == 0 and len(names) == 1 and digest(["cat", os.path.join(store, names[0])]) == body.digest
        return whole, done, relay.byte_count - body.byte_count - lost, lost, seconds


class Body:
    def __init__(self, argv, byte_count):
        self.digest, self.byte_count = digest(argv), byte_count


def main():
    blob = os.path.abspath(sys.argv[1])
    mebibytes, kills = (int(text) for text in (sys.argv[2:4] + ["1024", "50"][len(sys.argv[2:4]):]))
    failed = False
    with tempfile.TemporaryDirectory(dir=sys.argv[4] if len(sys.argv) > 4 else None) as folder:
        path = os.path.join(folder, "source")
        measuring.write_mixed(path, mebibytes)
        form = ["-F", "a=b", "-F", f"f=@{path}", f"--boundary={BOUNDARY}"]
        count = int(subprocess.run(
            [blob, "form", "--headers", "--output", os.devnull, *form], stderr=subprocess.PIPE, check=True
        ).stderr.split(b"Content-Length: ")[1].split()[0])
        bodies = {
            "raw": ([path], Body(["cat", path], mebibytes << 20)),
            "form": (form, Body([blob, "form", *form], count)),
        }
        print(f"{'':32}{'whole':>6}{'kills':>6}{'again a kill':>14}{'lost a kill':>13}{'seconds':>9}")
        for wire in ("tus", "tus --parallel 4", "draft"):
            for name, (source, body) in bodies.items():
                for end in ("client", "receiver"):
                    options = ["--resumable", *wire.split()]
                    whole, done, again, lost, seconds = measure(
                        blob, folder, source, options, body, kills, end == "client")
                    failed |= not whole or done < kills or again >= LIMIT * done
                    print(f"{wire + ', ' + name + ', ' + end:32}{'yes' if whole else 'NO':>6}{done:6}"
                          f"{again / max(1, done) / 1024:10.0f} KiB{lost / max(1, done) / 1024:9.0f} KiB{seconds:9.1f}",
                          flush=True)
    sys.exit(failed)


main()
