#!/usr/bin/env python3
"""Cuts the power of downloads by `blob fetch`: no file may be a mix of two contents, or have its name too early.

fetch_power_cuts.py BLOB [--cuts N] [--seed N]

The system calls of whole downloads are recorded (Tests/CSystemCallLog, loaded before the C library). Each cut replays them up
to a random one as a disk may have them: what was synchronised, and nothing, all names, or any part of the rest. Then the
download goes on, half of the times with another content, which must be reported as `changed`.
"""
import argparse, os, random, struct, subprocess, sys, tempfile
from fetch_kills import Content, start_server

CREATE, FOLDER, WRITE, TRUNCATE, SYNCHRONISE, RENAME, UNLINK = range(1, 8)
NAME = 'content.bin'
DATE = 'Wed, 01 Oct 2025 10:00:00 GMT'


def calls(path):
    with open(path, 'rb') as file:
        log = file.read()
    place = 0
    while place < len(log):
        kind, *lengths, inode, other, offset = struct.unpack_from('=4I2Qq', log, place)
        place += 40
        parts = []
        for length in lengths:
            parts.append(log[place:place + length])
            place += length
        yield kind, parts[0].decode(), parts[1].decode(), parts[2], inode, other, offset


def apply(content, change):
    data, offset = change
    if data is None:
        content[:] = content[:offset].ljust(offset, b'\0')
    else:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset:offset + len(data)] = data


class Disk:
    """One folder: the files that names stand for, durable and current, and the bytes of the files."""

    def __init__(self, folder):
        self.folder, self.durable, self.current, self.files = folder, {}, {}, {}

    def apply(self, kind, name, other_name, data, inode, other, offset):
        if kind == CREATE:
            self.current[name], self.files[other] = other, (bytearray(), [])
        elif kind == WRITE and inode in self.files:
            self.files[inode][1].append((data, offset))
        elif kind == TRUNCATE and inode in self.files:
            self.files[inode][1].append((None, offset))
        elif kind == SYNCHRONISE and inode == self.folder:
            self.durable = dict(self.current)
        elif kind == SYNCHRONISE and inode in self.files:
            content, pending = self.files[inode]
            for change in pending:
                apply(content, change)
            pending.clear()
        elif kind == RENAME:
            self.current[other_name] = self.current.pop(name)
        elif kind == UNLINK:
            self.current.pop(name, None)

    def write(self, path, loss, chance):
        luck = chance.choice((0.5, 0.9, 0.99, 1))
        for name in sorted(set(self.durable) | set(self.current)):
            names = self.current if loss == 'bytes' or loss == 'some' and chance.random() < max(luck, 0.7) else self.durable
            if name not in names:
                continue
            durable, pending = self.files[names[name]]
            content = bytearray(durable)
            for change in pending if loss == 'some' else []:
                if chance.random() < luck:
                    apply(content, change)
            with open(f'{path}/{name}', 'wb') as file:
                file.write(content)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('blob')
    parser.add_argument('--cuts', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    chance, resumed, changes = random.Random(options.seed), 0, 0
    server, url = start_server()
    server.pause = 0
    with tempfile.TemporaryDirectory() as folder:
        library, source = f'{folder}/log.so', os.path.dirname(os.path.abspath(__file__)) + '/CSystemCallLog'
        subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-I', f'{source}/include', '-o', library,
                        f'{source}/CSystemCallLog.c'], check=True)
        # The second one is longer than the 64 MiB after which a download is synchronised.
        for number, count in enumerate((6_300_000, 70_300_000)):
            old, new = Content(number, count, '"old"', DATE), Content(-1 - number, count, '"new"', DATE)
            server.content = old
            os.mkdir(f'{folder}/{number}')
            command = [options.blob, 'fetch', '-q', '-C']
            environment = {'LD_PRELOAD': library, 'SYSTEM_CALL_LOG': f'{folder}/log{number}',
                           'SYSTEM_CALL_LOG_FOLDER': f'{folder}/{number}'}
            subprocess.run([*command, f'{folder}/{number}', url], check=True, env=os.environ | environment)
            log = list(calls(f'{folder}/log{number}'))
            assert sum(call[0] == WRITE for call in log) > count >> 20, 'no writes were recorded'
            for cut in range(options.cuts * (9 - 8 * number) // 10):
                disk, loss = Disk(os.stat(f'{folder}/{number}').st_ino), ('everything', 'bytes', 'some', 'some')[cut % 4]
                for call in log[:chance.randrange(len(log) + 1)]:
                    disk.apply(*call)
                with tempfile.TemporaryDirectory(dir=folder) as state:
                    disk.write(state, loss, chance)
                    if chance.random() < 0.1:
                        lost = f'{state}/{NAME}.blob-part' + chance.choice(['', '.record'])
                        if os.path.exists(lost):
                            os.remove(lost)
                    if os.path.exists(f'{state}/{NAME}') and open(f'{state}/{NAME}', 'rb').read() != old.bytes:
                        sys.exit(f'cut {cut} of {count} bytes ({loss}): a name before its bytes')
                    server.content, sent = chance.choice([old, new]), server.sent
                    result = subprocess.run([*command, state, url], capture_output=True, text=True)
                    if result.returncode == 75 and 'changed' in result.stderr and server.content is new:
                        changes += 1
                        result = subprocess.run([*command, state, '--restart-if-changed', url], capture_output=True, text=True)
                    if result.returncode:
                        sys.exit(f'cut {cut} of {count} bytes ({loss}): {result.stderr}')
                    if sorted(os.listdir(state)) != [NAME]:
                        sys.exit(f'cut {cut} of {count} bytes ({loss}): left {os.listdir(state)}')
                    if open(f'{state}/{NAME}', 'rb').read() != server.content.bytes:
                        sys.exit(f'cut {cut} of {count} bytes ({loss}): a mix of two contents')
                    resumed += server.sent - sent < count and server.content is old
    print(f'{options.cuts} power cuts: no mix, no name too early; {resumed} downloads went on, {changes} had changed')


main()
