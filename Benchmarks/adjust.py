#!/usr/bin/env python3
"""Compares reading adjusted photos of an asset library with the installed tools, in one run.

usage: Benchmarks/adjust.py BLOB [--size WxH] [--runs N] [--folder DIR] [--only WORD]

Generates its data with ImageMagick, the same in every run: a JPEG of 24 megapixels. Prints medians, the medians of the
ratios of neighbouring runs (below 1: blob is faster), and the peak memory of one more run of each command, or of blob's
helper if it uses more memory. The first table is the base: the same task with a picture of 64 x 64 pixels.
"""
import argparse, os, shutil, subprocess, tempfile

from measuring import banner, compare, tool

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--size', default='6000x4000', help='pixels of the picture (default 6000x4000)')
parser.add_argument('--runs', type=int, default=5, help='counted runs of each command (default 5)')
parser.add_argument('--folder', default=None, help='folder for the data (default: the folder for temporary files)')
parser.add_argument('--only', default='', help='run only the measurements with this word in their title')
options = parser.parse_args()
blob, vips, convert, jpegtran = os.path.abspath(options.blob), tool('vips'), tool('convert'), tool('jpegtran')


def output_of(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def make_picture(path, size):
    """Writes a JPEG in 4:2:0 with structures of all sizes and some noise."""
    width, height = map(int, size.split('x'))
    output_of(convert, '-size', f'{max(1, width // 2)}x{max(1, height // 2)}', '-seed', '1', 'plasma:fractal', '-resize',
              f'{size}!', '-attenuate', '0.3', '+noise', 'Gaussian', '-quality', '93', '-sampling-factor', '2x2', path)


def adjusted(folder, path, *arguments):
    """Returns the command that reads a picture with an adjustment from a separate library."""
    library = tempfile.mkdtemp(dir=folder) + '/library'
    output_of(blob, 'library', 'create', library)
    url = output_of(blob, 'library', 'import', '--library', library, path)
    output_of(blob, 'library', 'adjust', '--library', library, url, *arguments)
    return [blob, 'cat', '--library', library, url]


def measure(folder):
    width, height = map(int, options.size.split('x'))
    big, small, out = (os.path.join(folder, name) for name in ('big.jpg', 'small.jpg', 'out.jpg'))
    make_picture(big, options.size)
    make_picture(small, '64x64')
    left, top, kept_width, kept_height = width // 12, height // 10, width * 5 // 6, height * 4 // 5
    crop = f'{left},{top},{kept_width},{kept_height}'
    place = [str(number) for number in (left, top, kept_width, kept_height)]
    sequential = f'{big}[access=sequential]'
    peers = {
        'base': ('', ['--exposure', '0.5'], small, []),
        'crop and exposure': ('wall 1.1 of vips, 64 MiB above the base', ['--crop', crop, '--exposure', '0.5'], big, [
            ('vips crop', [vips, 'crop', sequential, f'{out}[Q=93]', *place]),
            ('convert -crop, multiply', [convert, big, '-crop', f'{kept_width}x{kept_height}+{left}+{top}', '-evaluate',
                                         'multiply', '1.4', '-quality', '93', out])]),
        'quarter turn without loss': ('160 MiB above the base', ['--rotate', '90'], big, [
            ('vips rot', [vips, 'rot', sequential, f'{out}[Q=93]', 'd90']),
            ('jpegtran', [jpegtran, '-perfect', '-rotate', '90', '-outfile', out, big] if jpegtran else None)]),
        'quarter turn with exposure': ('160 MiB above the base', ['--rotate', '90', '--exposure', '0.5'], big, [
            ('vips rot', [vips, 'rot', sequential, f'{out}[Q=93]', 'd90'])]),
        'straightened by 3 degrees': ('160 MiB above the base', ['--straighten', '3'], big, [
            ('vips rotate', [vips, 'rotate', big, f'{out}[Q=93]', '3']),
            ('convert -distort SRT', [convert, big, '-distort', 'SRT', '3', '-quality', '93', out])]),
    }
    for title, (goal, arguments, picture, others) in peers.items():
        if options.only in title:
            compare(title, [('blob cat URL', adjusted(folder, picture, *arguments))] + [
                (name, argv) for name, argv in others if argv], goal, runs=options.runs)


folder = tempfile.mkdtemp(dir=options.folder)
try:
    if not vips or not convert:
        print('Adjusted photos: left out without vips (libvips-tools) and convert (imagemagick).')
    else:
        banner('Adjusted photos', blob, options)
        measure(folder)
finally:
    shutil.rmtree(folder)
