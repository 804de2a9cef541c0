#!/usr/bin/env python3
"""Composes forms with `blob form`, has them read by the parsers of servers, and prints what each made of them.

usage: Tests/FormParsers/run.py BLOB [--only WORD]

Parsers that are not installed are left out: werkzeug, Django, aiohttp, Starlette, multipart, Falcon and Tornado of this
Python, its own cgi, PHP, Go, and busboy and undici of Node.js. A cell tells the worst that a parser did with a part:

=        the name, the file name and the bytes as they were put in
%        the same, with the escapes of browsers (%22, %0D, %0A, %5C) not decoded: the HTML standard decodes none
base     the file name without its folders, or what the parser takes for folders
name     the right bytes, under another name
lost     a part is missing, or has other bytes
refused  the parser refused the form
*        a known case, which no spelling of the form avoids

The status is 1 if a part is lost, or a form refused, in another case than those, or if `blob form` composes a form that
parsers misread.
"""
import argparse, hashlib, os, re, subprocess, sys, tempfile

import forms
import parsers

GRADES = ['=', '%', 'base', 'name', 'lost', 'refused']

# The cases that no spelling of the form avoids: the parser's own.
KNOWN = {
    ('an empty name', 'php'): 'A part without a name is dropped.',
    ('brackets, dots and spaces', 'php'): 'The name makes an array.',
    ('parameters in a file name', 'aiohttp'): 'A semicolon ends a parameter in quotes.',
    ('quoted parameters', 'aiohttp'): 'The same.',
    ('an empty name', 'tornado'): 'A form with such a part is refused.',
    ('the boundary without hyphens', 'undici'): 'The boundary is searched for without hyphens and line break.',
}


def written(text, is_name):
    """The name as `blob form` writes it: the escapes of browsers, and those of backslashes at the end."""
    if is_name:
        text = re.sub(r'\r\n|\r|\n', '\r\n', text)
    end = len(text) - len(text.rstrip('\\'))
    text = text[:len(text) - end] + '%5C' * end
    return text.replace('"', '%22').replace('\r', '%0D').replace('\n', '%0A')


def base(text):
    return None if text is None else re.split(r'[\\/]', text)[-1]


def grade(part, received):
    """Takes the best match of a part out of what was received; returns how good it is."""
    name, file_name, data = part
    shown = (written(name, True), None if file_name is None else written(file_name, False))
    name = re.sub(r'\r\n|\r|\n', '\r\n', name)
    digest = hashlib.sha256(data).hexdigest()
    tests = [
        lambda other: other[:2] == (name, file_name),
        lambda other: other[0] in (name, shown[0]) and other[1] in (file_name, shown[1]),
        lambda other: other[0] in (name, shown[0]) and base(other[1]) in (base(file_name), base(shown[1])),
        lambda other: (other[1] is None) == (file_name is None),
    ]
    for number, test in enumerate(tests):
        for other in received:
            if other[2] == digest and test(other):
                received.remove(other)
                return number
    return GRADES.index('lost')


def compose(blob, form, path):
    """Writes the body of a form to `path`; returns its Content-Type."""
    if not form.arguments:
        # The command wants a part; this is what `MultipartForm` makes without one.
        open(path, 'wb').write(b'--none--\r\n')
        return 'multipart/form-data; boundary=none'
    run = subprocess.run(
        [blob, 'form', '--headers', '--output', path, *form.arguments], capture_output=True, check=True)
    return re.search(rb'Content-Type: (.*)', run.stderr).group(1).decode()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('blob')
    arguments.add_argument('--only', default='', help='forms with this word in their title')
    options = arguments.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        found, missing = parsers.available(folder)
        for name in missing:
            print(f'{name} is not installed')
        print(f'{"":30}' + ''.join(f'{name:>11}' for name in found), flush=True)
        for form in forms.all_forms(folder):
            if options.only not in form.title:
                continue
            path = os.path.join(folder, 'body')
            content_type = compose(options.blob, form, path)
            cells = []
            for name, read in found.items():
                try:
                    received = [tuple(part) for part in read(path, content_type)]
                    count = len(received)
                    worst = max((grade(part, received) for part in form.parts), default=0)
                    cell = GRADES[worst if count == len(form.parts) else GRADES.index('lost')]
                except Exception as error:
                    cell = 'refused'
                    if (form.title, name) not in KNOWN:
                        print(f'{form.title}, {name}: {type(error).__name__}: {error}'[:300], file=sys.stderr)
                if cell in ('lost', 'refused') and (form.title, name) not in KNOWN:
                    failures.append(f'{form.title}: {cell} by {name}')
                cells.append(cell + ('*' if (form.title, name) in KNOWN and cell in ('lost', 'refused') else ''))
            print(f'{form.title:30}' + ''.join(f'{cell:>11}' for cell in cells), flush=True)
        refused = forms.refused(folder)
        for words in refused:
            status = subprocess.run([options.blob, 'form', *words], capture_output=True).returncode
            if status != 64:
                failures.append(f'{words} is not refused: {status}')
        print(f'{len(refused)} forms that parsers misread are refused by blob form: control characters, boundaries')
    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


main()
