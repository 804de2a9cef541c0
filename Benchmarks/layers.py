#!/usr/bin/env python3
"""Compares `blob` with the programs that container engines run to decode a layer: gzip on standard input, decoded bytes
on standard output.

usage: Benchmarks/layers.py BLOB [--trees DIR...] [--size MIB] [--runs N] [--folder DIR] [--only WORD]

Packs trees of this machine as layers, by `gzip -6` and, if Go is installed, by Go's compress/gzip with its default
level; and a layer of a few KB, which shows the start-up. The SHA-256 of each program's output must be equal to the
SHA-256 of the tar. Each layer is decoded from a file to /dev/null, and from a pipe into a pipe, as an engine does it;
the small one only from a file, because the other ends of the pipes take longer. Prints medians, the medians of the
ratios of neighbouring runs (below 1: blob is faster), and the peak memory of one more run of each command.
"""
import argparse, glob, hashlib, os, subprocess, sys, tempfile

from measuring import banner, compare, tool

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--trees', nargs='+', default=['/usr/lib/python3*', '/usr/share'], help='folders, or patterns')
parser.add_argument('--size', type=int, default=512, help='MiB of files in a layer, at most (default 512)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
parser.add_argument('--only', default='', help='measure only layers with this word in their name')
options = parser.parse_args()
blob = os.path.abspath(options.blob)
options.folder = options.folder and os.path.abspath(options.folder)

# Packs standard input; with -d, decodes it, as an engine does in its own process without any of the programs.
GO = '''
package main

import (
	"compress/gzip"
	"io"
	"os"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	if len(os.Args) > 1 {
		reader, err := gzip.NewReader(os.Stdin)
		check(err)
		_, err = io.Copy(os.Stdout, reader)
		check(err)
		return
	}
	writer := gzip.NewWriter(os.Stdout)
	_, err := io.Copy(writer, os.Stdin)
	check(err)
	check(writer.Close())
}
'''


def write_tar(path, folder, limit):
    """Writes the files of a folder, in the order of their names; a file that would exceed the limit is left out."""
    names, size = [], 0
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in (os.path.join(parent, name) for name in sorted(files)):
            if os.path.islink(file) or not os.path.isfile(file) or not os.access(file, os.R_OK):
                continue
            if size + os.path.getsize(file) <= limit:
                size += os.path.getsize(file)
                names.append(file)
    with open(path, 'wb') as output:
        subprocess.run([tool('tar'), '-P', '-c', '--null', '--no-recursion', '-T', '-'], check=True, stdout=output,
                       input='\0'.join(names).encode(errors='surrogateescape'))


def megabytes(path):
    size = os.path.getsize(path) / 1e6
    return f'{size:.3f} MB' if size < 1 else f'{size:.0f} MB'


def digest(stream):
    hasher = hashlib.sha256()
    while piece := stream.read(1 << 20):
        hasher.update(piece)
    return hasher.hexdigest()


def decoded_digest(argv, path):
    """Returns the SHA-256 of what a command makes of a file; None if it fails."""
    with open(path, 'rb') as file, subprocess.Popen(argv, stdin=file, stdout=subprocess.PIPE) as process:
        found = digest(process.stdout)
    return found if process.returncode == 0 else None


def build_go(folder):
    """Returns the path of the program in Go; None without Go."""
    source, program = os.path.join(folder, 'layer.go'), os.path.join(folder, 'layer')
    with open(source, 'w') as file:
        file.write(GO)
    if not tool('go'):
        return None
    subprocess.run([tool('go'), 'build', '-o', program, source], check=True)
    return program


def main(folder):
    script = os.path.join(folder, 'unpigz')
    with open(script, 'w') as file:
        file.write(f"#!/bin/sh\nexec '{blob}' cat gzip+-\n")
    os.chmod(script, 0o755)
    go = build_go(folder)
    commands = [('blob cat gzip+-', [blob, 'cat', 'gzip+-']), ('blob by a script unpigz', [script, '-d', '-c']),
                *((f'{name} -d -c', (path := tool(name)) and [path, '-d', '-c'])
                  for name in ('unpigz', 'igzip', 'rapidgzip', 'gzip')), ('Go compress/gzip', go and [go, '-d'])]
    small = os.path.join(folder, 'small')
    os.mkdir(small)
    for number in range(3):
        with open(os.path.join(small, f'{number}.conf'), 'w') as file:
            file.writelines(f'setting-{number}-{line} = {line * line}\n' for line in range(150))
    trees = [(small, 'a small layer'), *((path, f'layer of {os.path.basename(path)}') for pattern in options.trees
                                         for path in sorted(glob.glob(pattern)) if os.path.isdir(path))]
    ways = [('gzip -6', [tool('gzip'), '-6', '-n', '-c']), *([('Go', [go])] if go else [])]
    tar = os.path.join(folder, 'layer.tar')
    banner('Layers of containers', blob, options)
    for tree, name in trees:
        write_tar(tar, tree, options.size << 20)
        with open(tar, 'rb') as file:
            wanted = digest(file)
        for way, packer in ways:
            title, layer = f'{name}, packed by {way}', os.path.join(folder, 'layer.tar.gz')
            if options.only not in title:
                continue
            with open(tar, 'rb') as source, open(layer, 'wb') as output:
                subprocess.run(packer, stdin=source, stdout=output, check=True)
            title += f', {megabytes(layer)} of {megabytes(tar)}'
            equal = [(command, argv) for command, argv in commands if argv and decoded_digest(argv, layer) == wanted]
            missing = [command for command, argv in commands if argv and (command, argv) not in equal]
            if missing:
                print(f'\n{title}: other bytes, or an error: {", ".join(missing)}')
            if equal[:2] != commands[:2]:
                sys.exit('blob has decoded other bytes')
            runs = max(25, options.runs) if tree == small else options.runs
            compare(f'{title}, from a file to /dev/null', equal, runs=runs, source=layer)
            if tree != small:
                compare(f'{title}, from a pipe into a pipe', equal, runs=runs, source=layer, into_pipe=True,
                        memory=False)


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    main(folder)
