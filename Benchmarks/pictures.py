#!/usr/bin/env python3
"""Draws a benchmark's table as an SVG: a bar for each command, with the machine, the versions and the date.

usage: Benchmarks/pictures.py FOLDER PAGE, which writes the tables in FOLDER to PAGE, Benchmarks/README.md: a dozen as
pictures, in the folder Pictures beside it, and all others as tables.
"""
import glob, html, os, platform, re, shutil, subprocess, sys, time

WIDTH, ROW, LEFT, BAR = 860, 18, 250, 330
HEADINGS = {
    'adjust': 'Adjusted photos', 'archives': 'Archives', 'blocks': 'xz, Zstandard and bzip2', 'bodies': 'Large uploads',
    'extract': 'Extraction', 'files': 'Files', 'gzip-files': 'gzip', 'http': 'Web servers',
    'layers': 'Layers of containers', 'members': 'Many members', 'serve': 'Serving',
    'upload': 'Many uploads', 'verification': 'Verification'}


def version(program):
    """Returns the version that a program prints, up to the number; an empty text if it prints none."""
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


# The rows that are shown as pictures, including some in which `blob` is slower; the page lists all other rows in
# tables.
SHOWN = ('files-2', 'files-3', 'gzip-files-1', 'gzip-files-13', 'archives-12', 'archives-16', 'archives-22', 'blocks-1',
         'blocks-7', 'extract-3', 'bodies-3', 'http-1')


def order(path):
    return [int(part) if part.isdigit() else part for part in re.split(r'(\d+)', path)]


def read(path):
    """Returns the table of a picture: title, rows with a name, wall seconds and other figures, and notes."""
    title, *texts = [html.unescape(found) for found in re.findall('<text[^>]*>([^<]*)</text>', open(path).read())]
    rows = []
    while len(texts) > 1 and (found := re.match(r'([\d.]+) s, (.*)', texts[1])):
        rows.append((texts[0], float(found[1]), found[2]))
        texts = texts[2:]
    return title, rows, texts


def seconds(value):
    return f'{value:.2f}' if value >= 1 else f'{value:.3f}' if value >= 0.1 else f'{value:.4f}'


def line(path):
    """Returns a table row in Markdown, with the ratio to the fastest peer, which is bold if it is below 1."""
    title, rows, notes = read(path)
    peers = [row for row in rows[1:] if not row[0].startswith(('blob', 'true'))]
    quotient = f'{min(wall for _, wall, _ in peers) / rows[0][1]:.2f}' if peers else ''
    if quotient and float(quotient) < 1:
        quotient = f'**{quotient}**'
    cells = (title, f'`{rows[0][0]}` {seconds(rows[0][1])}', quotient,
             ', '.join(f'`{name}` {seconds(wall)}' for name, wall, _ in rows[1:]))
    return '| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |\n'


def write_page(drawn, page):
    """Replaces the text between the marks in a page with the pictures and the tables of all other rows."""
    paths = sorted(glob.glob(f'{drawn}/benchmark-*.svg'), key=order)
    folder = f'{os.path.dirname(page)}/Pictures'
    text, rest, heading = '', '', None
    for path in paths:
        name = os.path.basename(path).removeprefix('benchmark-').removesuffix('.svg')
        if name in SHOWN:
            os.makedirs(folder, exist_ok=True)
            shutil.copyfile(path, f'{folder}/{name}.svg')
            text += f'![{read(path)[0]}](Pictures/{name}.svg)\n\n'
            continue
        program, when = name.rpartition('-')[0], next(note for note in read(path)[2] if 'cores' in note)
        if (HEADINGS.get(program, program), when) != heading:
            heading = HEADINGS.get(program, program), when
            rest += (f'\n### {heading[0]}\n\n{read(path)[2][0]}. {when}.\n\n'
                     '| task | seconds of `blob` | ratio | seconds of others |\n|---|---|---|---|\n')
        rest += line(path)
    old = open(page).read()
    head, tail = old.split('<!-- pictures -->\n')[0], old.split('<!-- end -->\n')[1]
    with open(page, 'w') as file:
        file.write(f'{head}<!-- pictures -->\n\n{text}## All other rows\n{rest}\n<!-- end -->\n{tail}')


if __name__ == '__main__':
    write_page(*sys.argv[1:])
