"""The forms: what the command is told, and what a parser must find."""
import os
from dataclasses import dataclass


@dataclass
class Form:
    title: str
    arguments: list
    parts: list  # The name, the file name or None, and the bytes of each part.


# Characters that many parsers refuse in a name, or end it at.
CONTROL_CHARACTERS = [chr(code) for code in (1, 9, 0x1F, 0x7F)]

FILE_NAMES = {
    'quotes in a file name': 'my "best" file.txt',
    'a quote at the end': 'the end"',
    'backslash at the end': 'ends with\\',
    'two backslashes at the end': 'ends with\\\\',
    'a backslash inside': 'dir\\back.txt',
    'a backslash and a quote': 'a\\"b.txt',
    'a quote and a backslash': 'a"\\',
    'CR and LF in a file name': 'a\r\nb\nc\rd.txt',
    'a header in a file name': 'a\r\n\r\nContent-Type: text/html',
    'UTF-8 in a file name': 'naïve 日本語 👩‍👩‍👧‍👦.txt',
    'decomposed UTF-8': 'nai\u0308ve.txt',
    'percent signs': '100%22 sure %0A.txt',
    'a CR and an LF at the end': 'a.txt\r\n',
    'parameters in a file name': 'a; name=z; filename=evil.txt',
    'quoted parameters': 'a"; name="z"; filename="evil.txt',
    'a comma and an equals sign': 'a,b=c.txt',
    'spaces at both ends': ' a ',
    'a folder': 'up/down.txt',
    'an encoded word': '=?UTF-8?B?YQ==?=',
    'an entity': 'a&amp;b.txt',
    '255 bytes': 'x' * 251 + '.txt',
}

NAMES = {
    'quotes in a name': 'a "b" c',
    'a backslash at a name\'s end': 'a\\',
    'CR and LF in a name': 'a\r\nb\nc\rd',
    'UTF-8 in a name': 'naïve 日本語 👩‍👩‍👧‍👦',
    'brackets, dots and spaces': 'a[b][c].d e',
    'an empty name': '',
    'a header\'s name': 'Content-Disposition: form-data; name',
}

BOUNDARY = 'XYZ'

# Bytes that parsers have taken for a boundary: they must not pass with a boundary that the caller gave.
REFUSED_BODIES = [b'--XYZ', b'x\r\n--XYZ', b'x\n--XYZ\r\ny', b'x\r--XYZ\r\n', b'x\r\n--XYZother\r\n', b'x--XYZ\r\n']

# The bytes that come nearest to it.
BODIES = {
    'every byte': bytes(range(255, -1, -1)) * 8,
    'only line breaks': b'\r\n\r\n\r\n',
    'a CR at the end': b'x\r',
    'CR LF and hyphens at the end': b'x\r\n--',
    'most of the boundary': b'x\r\n--XY',
    'the boundary without hyphens': b'XYZ\r\nXYZ\r\n-XYZ\r\n',
    'another form': b'--ABC\r\nContent-Disposition: form-data; name="z"\r\n\r\nx\r\n--ABC--\r\n',
    'headers': b'Content-Disposition: form-data; name="z"\r\n\r\nx',
}


def quoted(text):
    """The syntax of -F for a text in quotes."""
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, 'wb') as out:
        out.write(data)
    return path


def refused(folder):
    """The arguments that the command must refuse."""
    empty = write(folder, 'empty', b'')
    forms = [['-F', f'a{character}b=x'] for character in CONTROL_CHARACTERS]
    forms += [['-F', f'f=@{empty};filename="a{character}b"'] for character in CONTROL_CHARACTERS]
    for number, data in enumerate(REFUSED_BODIES):
        forms.append(['--boundary', BOUNDARY, '-F', f'f=@{write(folder, f"refused-{number}", data)}'])
    return forms


def all_forms(folder):
    """The forms that all parsers should read."""
    def file(name, data):
        return write(folder, name, data)

    text, other = file('text', b'text'), file('other', b'other')
    empty = file('empty', b'')
    yield Form('a field and a file', ['-F', 'a=1', '-F', f'f=@{text}'], [('a', None, b'1'), ('f', 'text', b'text')])
    yield Form('no parts', [], [])
    yield Form('an empty field', ['-F', 'a=', '-F', 'b=1'], [('a', None, b''), ('b', None, b'1')])
    yield Form('an empty file', ['-F', f'f=@{empty}', '-F', 'b=1'], [('f', 'empty', b''), ('b', None, b'1')])
    yield Form('an empty file at the end', ['-F', f'f=@{empty}'], [('f', 'empty', b'')])
    for title, name in FILE_NAMES.items():
        yield Form(
            title, ['-F', f'f=@{text};filename={quoted(name)}', '-F', f'g=@{other}', '-F', 'a=1'],
            [('f', name, b'text'), ('g', 'other', b'other'), ('a', None, b'1')])
    for title, name in NAMES.items():
        yield Form(title, ['-F', f'{name}=1', '-F', 'b=2'], [(name, None, b'1'), ('b', None, b'2')])
    for title, data in BODIES.items():
        path = file('body-of-part', data)
        yield Form(
            title, ['--boundary', BOUNDARY, '-F', f'f=@{path}', '-F', f'g=@{other}'],
            [('f', 'body-of-part', data), ('g', 'other', b'other')])
    data = bytes(range(256)) * (12 << 10)
    yield Form('3 MiB', ['-F', f'f=@{file("large", data)}', '-F', 'a=1'], [('f', 'large', data), ('a', None, b'1')])
    fields = [(f'f{number}', None, b'%d' % number) for number in range(20_000)]
    yield Form(
        '20,000 fields', [word for name, _, value in fields for word in ('-F', f'{name}={value.decode()}')], fields)
