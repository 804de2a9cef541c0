#!/usr/bin/env python3
"""Runs the demonstration, and draws what it prints as a terminal, for pages with a light and with a dark background.

usage: Examples/demo_picture.py BLOB writes demo-light.svg and demo-dark.svg beside this script
"""
import html, os, subprocess, sys

COLUMNS, SIZE, LINE, MARGIN = 112, 13, 18, 16
# Background, frame, text, a heading, a prompt and an error.
COLOURS = {'light': ('#ffffff', '#d0d7de', '#1f2328', '#57606a', '#1a7f37', '#cf222e'),
           'dark': ('#0d1117', '#30363d', '#e6edf3', '#8b949e', '#3fb950', '#f85149')}


def clipped(line):
    return line if len(line) <= COLUMNS else line[:COLUMNS - 1] + '…'


def draw(lines, colours):
    background, frame, plain, heading, prompt, error = colours
    width, height = round(COLUMNS * SIZE * 0.602) + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    texts = []
    for number, line in enumerate(lines):
        colour = {'#': heading, '$': prompt}.get(line[:1], error if line.startswith(('blob: ', 'exit status')) else plain)
        y = MARGIN + number * LINE + SIZE
        texts.append(f'<text x="{MARGIN}" y="{y}" fill="{colour}">{html.escape(clipped(line))}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="{SIZE}" '
            'xml:space="preserve">\n'
            '<title>A run of the demonstration in a terminal</title>\n'
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{background}" stroke="{frame}"/>\n'
            + '\n'.join(texts) + '\n</svg>\n')


if __name__ == '__main__':
    folder = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([f'{folder}/demo.sh'], env={**os.environ, 'BLOB': sys.argv[1]}, check=True, text=True,
                         stdout=subprocess.PIPE)
    lines = run.stdout.strip().split('\n')
    for name, colours in COLOURS.items():
        with open(f'{folder}/demo-{name}.svg', 'w') as file:
            file.write(draw(lines, colours))
