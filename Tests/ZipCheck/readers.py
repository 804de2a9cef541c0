#!/usr/bin/env python3
"""Composes zips with `blob compose zip`, and has other programs read them: unzip, 7z, bsdtar (a file and a stream),
Python, Go, and Java's ZipInputStream. Also reads ranges of them in other processes.

usage: readers.py BLOB [--large] [--sources N] [--ranges N]
"""
import argparse, hashlib, os, random, shutil, subprocess, sys, tempfile, zipfile, zlib
from concurrent.futures import ThreadPoolExecutor

parser = argparse.ArgumentParser()
parser.add_argument("blob")
parser.add_argument("--large", action="store_true", help="also 10 GiB in 10,000 sources, and files of 4 GiB")
parser.add_argument("--ranges", type=int, default=200, help="the number of ranges of each zip")
parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
arguments = parser.parse_args()
blob = os.path.abspath(arguments.blob)
here = os.path.dirname(os.path.abspath(__file__))
work = tempfile.mkdtemp(prefix="zips-", dir=os.environ.get("TMPDIR", "/var/tmp"))
print("seed", arguments.seed)
generator = random.Random(arguments.seed)
failures = 0
# The indexes of this run only.
environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(work, "cache"), GOCACHE=os.path.join(work, "go"),
                   GO111MODULE="off", LC_ALL="C.UTF-8")


def check(name, is_right, detail=""):
    global failures
    failures += not is_right
    print(("ok    " if is_right else "FAILED"), name, detail, flush=True)


def run(*words, **options):
    return subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def build_readers():
    readers = {}
    if shutil.which("go"):
        if run("go", "build", "-o", f"{work}/read_zip", f"{here}/read_zip.go").returncode == 0:
            readers["go"] = lambda path: run(f"{work}/read_zip", path)
    if shutil.which("javac") and run("javac", "-d", work, f"{here}/ReadZip.java").returncode == 0:
        readers["java, streamed"] = lambda path: run("java", "-Xmx256m", "-cp", work, "ReadZip", stdin=open(path, "rb"))
    return readers


def read_with_others(name, path, expected, readers):
    """`expected`: (checksum, length, name) of each file."""
    lines = sorted(f"{sum:08x} {length} {entry}" for sum, length, entry in expected)
    for reader, read in readers.items():
        result = read(path)
        found = sorted(line for line in result.stdout.decode().splitlines() if not line.endswith("/"))
        check(f"{name}: {reader}", result.returncode == 0 and found == lines, result.stderr[-200:].decode("utf-8", "replace"))
    for tool, words in [("unzip", ["unzip", "-tqq", path]), ("7z", ["7z", "t", "-bd", path])]:
        if shutil.which(tool):
            result = run(*words)
            text = (result.stdout + result.stderr).decode("utf-8", "replace")
            check(f"{name}: {tool}", result.returncode == 0 and "arning" not in text, text[-300:] if result.returncode else "")
    if shutil.which("bsdtar"):
        for way in ["file", "stream"]:
            # It prints the files to nowhere, and checks their checksums.
            source = {"stdin": open(path, "rb")} if way == "stream" else {}
            command = subprocess.Popen(["bsdtar", "-xOf", "-" if way == "stream" else path], env=environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, **source)
            count = 0
            while chunk := command.stdout.read(1 << 20):
                count += len(chunk)
            error = command.stderr.read().decode()
            total = sum(length for _, length, _ in expected)
            check(f"{name}: bsdtar, {way}", command.wait() == 0 and count == total and not error, error[-300:])
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist() if not entry.is_dir()}
        same = {(entry.CRC, entry.file_size, entry.filename) for entry in entries.values()} == set(expected)
        check(f"{name}: python, the directory", same)
        check(f"{name}: python, every byte", archive.testzip() is None)


def read_ranges(name, path, sources):
    """Each range by a process of its own, half of them without any stored checksum."""
    size = os.path.getsize(path)
    check(f"{name}: the length is known before the first byte", f"bytes: {size}" in run(blob, "info", sources).stdout.decode())

    def one(number):
        length = generator.choice([1, 1000, 100_000, 1 << 20])
        start = generator.choice([generator.randrange(size), max(0, size - generator.randrange(1, 3000))])
        words = [blob, "cat", sources, "--offset", str(start), "--length", str(length)]
        found = run(*words).stdout
        with open(path, "rb") as file:
            file.seek(start)
            return found == file.read(length)

    # Many in one process, which knows no checksum at its start.
    ranges = [(generator.randrange(size), generator.choice([1, 1000, 100_000])) for _ in range(10_000)]
    ranges = [(start, min(length, size - start)) for start, length in ranges]
    with open(f"{work}/ranges", "w") as file:
        file.writelines(f"{start} {length}\n" for start, length in ranges)
    command = subprocess.Popen([blob, "cat", sources, "--index", "none", "--ranges", f"{work}/ranges"], env=environment,
                               stdout=subprocess.PIPE)
    with open(path, "rb") as file:
        count = 0
        for start, length in ranges:
            file.seek(start)
            count += command.stdout.read(length) == file.read(length)
    check(f"{name}: 10,000 ranges in one process", command.wait() == 0 and count == 10_000, f"{count} equal")

    with ThreadPoolExecutor(2) as pool:
        count = sum(pool.map(one, range(arguments.ranges)))
    check(f"{name}: {arguments.ranges} ranges, each in a process", count == arguments.ranges, f"{count} equal")


def checksum(path):
    value = 0
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            value = zlib.crc32(chunk, value)
    return value


def compose(name, folder, readers, ranges=True):
    path = f"{work}/{name}.zip"
    peak = run("/usr/bin/time", "-f", "%M", blob, "compose", "zip", "-o", path, folder + "/")
    check(f"{name}: composed", peak.returncode == 0, f"{os.path.getsize(path)} bytes, {peak.stderr.decode().split()[-1]} KiB in memory")
    expected = []
    for parent, _, files in os.walk(folder):
        for file in files:
            full = os.path.join(parent, file)
            expected.append((checksum(full), os.path.getsize(full), os.path.relpath(full, folder)))
    read_with_others(name, path, expected, readers)
    if ranges:
        read_ranges(name, path, f"zipped+{folder}")
    os.remove(path)


def small_files(folder, count):
    os.makedirs(folder)
    for number in range(count):
        with open(f"{folder}/{number}", "wb") as file:
            file.write(generator.randbytes(generator.choice([0, 1, 10, 1000])))


try:
    readers = build_readers()
    names = f"{work}/names"
    os.makedirs(f"{names}/a/ü/日本")
    for number, name in enumerate(["plain", "ü.txt", "日本語.txt", "a b", "a\\b", "-", "emoji😀", "e\u0301", "x" * 200]):
        with open(f"{names}/a/{name}", "wb") as file:
            file.write(generator.randbytes([0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 1_000_000, 5][number]))
    compose("names and sizes", names, readers)
    for count in [65_534, 65_535, 65_536]:
        folder = f"{work}/{count}"
        small_files(folder, count)
        compose(f"{count} entries", folder, readers, ranges=count == 65_535)
        shutil.rmtree(folder)
    if arguments.large:
        # The stored bytes of the third are exactly 4 GiB - 1.
        for size in [(1 << 32) - 1, 1 << 32, 4_294_639_630, 4_294_639_631]:
            folder = f"{work}/{size}"
            os.makedirs(folder)
            with open(f"{folder}/large", "wb") as file:
                file.truncate(size)
                file.write(b"the beginning")
            with open(f"{folder}/next", "wb") as file:
                file.write(b"the next file")
            compose(f"{size} bytes", folder, readers, ranges=size == 1 << 32)
            shutil.rmtree(folder)
        folder = f"{work}/many"
        for number in range(10_000):
            parent = f"{folder}/{number // 100}"
            os.makedirs(parent, exist_ok=True)
            with open(f"{parent}/{number}", "wb") as file:
                file.write(generator.randbytes(1 << 20) if number % 2 else bytes(generator.randrange(1 << 20)) + generator.randbytes(1 << 19))
        compose("10,000 sources", folder, readers)
finally:
    shutil.rmtree(work, ignore_errors=True)
print("failures:", failures)
sys.exit(failures > 0)
