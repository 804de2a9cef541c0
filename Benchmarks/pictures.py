#!/usr/bin/env python3
"""Draws a table of a benchmark as an SVG: a bar for each command, and the machine, the versions and the date.

usage: Benchmarks/pictures.py CATALOG writes the article Measurements.md of the pictures in CATALOG/Resources.
"""
import glob, html, os, platform, re, subprocess, sys, time

WIDTH, ROW, LEFT, BAR = 860, 18, 250, 330
HEADINGS = {
    'adjust': 'Adjusted photos', 'archives': 'Archives', 'blocks': 'xz, Zstandard and bzip2', 'bodies': 'Large uploads',
    'extract': 'Extraction', 'files': 'Files', 'gzip-files': 'gzip', 'http': 'Web servers', 'members': 'Many members',
    'upload': 'Many uploads'}


def version(program):
    """Returns what a program prints of its version, up to the number; an empty text without one."""
    for argument in ('--version', 'version', '-v'):
        try:
            result = subprocess.run([program, argument], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            continue
        found = re.search(r'^(?:Version: )?\W*(.*?\d+\.\d[\w.-]*)', result.stdout.decode(errors='replace'), re.MULTILINE)
        if result.returncode == 0 and found:
            return found[1]
    return ''


def machine():
    with open('/proc/cpuinfo') if os.path.exists('/proc/cpuinfo') else open(os.devnull) as file:
        model = next((line.split(':')[1].strip() for line in file if line.startswith('model name')), platform.machine())
    return (f'{model}, {os.cpu_count()} cores, {platform.system()} {platform.release().split("-")[0]}, '
            f'load {os.getloadavg()[0]:.1f}, {time.strftime("%Y-%m-%d")}')


def text(x, y, content, **attributes):
    more = ''.join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x}" y="{y}"{more}>{html.escape(content)}</text>'


def draw(path, subject, title, rows, programs):
    """Writes the picture of a table.

    rows: a name, wall seconds, CPU seconds, and MiB or None; the first row is ours.
    programs: the paths of the peers, whose versions are named.
    """
    lines = [f'<title>{html.escape(title)}</title>', text(10, 24, title, font_size=15, font_weight='bold')]
    y, longest = 32, max(wall for _, wall, _, _ in rows) or 1
    for index, (command, wall, cpu, peak) in enumerate(rows):
        y += ROW
        lines.append(text(LEFT - 8, y, command, text_anchor='end'))
        lines.append(f'<rect x="{LEFT}" y="{y - 11}" width="{max(1, BAR * wall / longest):.1f}" height="13" '
                     f'fill="{"#1f6feb" if index == 0 else "#9aa4b2"}"/>')
        figures = f'{wall:.4f} s, {cpu:.4f} s of CPU' + (f', {peak:.1f} MiB' if peak else '')
        lines.append(text(LEFT + BAR + 8, y, figures))
    versions = '; '.join(sorted({found for program in programs if (found := version(program))}))
    for note in (subject, machine(), *re.findall(r'.{1,115}(?:;|$)', versions)):
        y += ROW
        lines.append(text(10, y + 8, note.strip(), fill='#57606a'))
    with open(path, 'w') as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 20}" '
                   f'viewBox="0 0 {WIDTH} {y + 20}" font-family="sans-serif" font-size="12">\n'
                   '<rect width="100%" height="100%" fill="white"/>\n' + '\n'.join(lines) + '\n</svg>\n')


def write_article(catalog):
    """Writes the article with all pictures of a catalog, in the order of their names, with a heading for each program."""
    def order(path):
        return [int(part) if part.isdigit() else part for part in re.split(r'(\d+)', path)]
    names = [os.path.basename(path) for path in
             sorted(glob.glob(f'{catalog}/Resources/benchmark-*.svg'), key=order)]
    with open(f'{catalog}/Measurements.md', 'w') as file:
        file.write('# Measurements\n\nThe time, the CPU time and the memory of `blob` beside those of other tools.\n\n'
                   '## Overview\n\n`make benchmark` measures, draws the pictures and writes this article. Each command '
                   'runs as a process of its own,\nin turn with its peers, and the medians are shown; '
                   'the blue bar is `blob`.\n')
        heading = None
        for name in names:
            program = name.removeprefix('benchmark-').rpartition('-')[0]
            if HEADINGS.get(program, program) != heading:
                heading = HEADINGS.get(program, program)
                file.write(f'\n## {heading}\n')
            title = html.unescape(re.search('<title>(.*)</title>', open(f'{catalog}/Resources/{name}').read())[1])
            file.write(f'\n![{title}]({name})\n')


if __name__ == '__main__':
    write_article(sys.argv[1])
