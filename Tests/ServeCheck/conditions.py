#!/usr/bin/env python3
"""Compares the ranges and the conditional requests of `blob serve` with those of nginx over the same files.

usage: Tests/ServeCheck/conditions.py BLOB [--only TEXT] [--list]

Sends each case, a request of the sections 8.8, 13 or 14 of RFC 9110, to both servers, and compares status, bytes,
Content-Range, Content-Length and validators. Where nginx deviates from the RFC, or the RFC leaves the choice to the
server, EXPLAINED has the answers of both and the section. The answers of `blob serve` are compared with the files, too.

The exit status is 1 if an answer is wrong or differs without an explanation, and 77 if nginx is not installed.
"""
import argparse, collections, email.utils, fnmatch, itertools, os, random, re, shutil, socket, subprocess, sys, tempfile
import textwrap, time

# The example of section 5.6.7 of RFC 9110, with a fraction: Last-Modified does not have it.
MODIFIED = 784111777.75
SIZES = {'empty': 0, 'one': 1, 'hundred': 100, 'medium': 200_000, 'large': 3 * 1024 * 1024 + 7}
FRESH = 'fresh'  # It is changed before each request, so that its ETag is weak; its date is a day ahead.
PATIENCE = 30  # Seconds until an answer that does not come is an error.
OVERHEAD = 200  # Bytes of a part's head: a server may send a gap below that with the ranges around it.

# ---------------------------------------------------------------------------------------------------------------------
# The cases

# `status` is the one answer that the RFC allows, or None.
Case = collections.namedtuple('Case', 'name file method fields status')


def range_sets(size):
    """Yields labels and range sets for a file of a size."""
    last = max(size - 1, 0)
    yield 'the first byte', '0-0'
    yield 'the second byte', '1-1'
    yield 'open from 0', '0-'
    yield 'open from the last', f'{last}-'
    yield 'open from the size', f'{size}-'
    yield 'open from behind the size', f'{size + 1}-'
    yield 'the last byte', f'{last}-{last}'
    yield 'the whole', f'0-{last}'
    yield 'to the size', f'0-{size}'
    yield 'to behind the size', f'0-{size + 1000}'
    yield 'from the size', f'{size}-{size + 5}'
    yield 'from the middle', f'{size // 2}-{size // 2 + 7}'
    yield 'suffix of 0', '-0'
    yield 'suffix of 1', '-1'
    yield 'suffix of the size', f'-{size}'
    yield 'suffix of the size and 1', f'-{size + 1}'
    yield 'zeros in front', '000000000000000000000000000-0000000000000000000000000000000'
    for label, number in (('2^31', 2**31), ('2^32', 2**32), ('2^63 - 1', 2**63 - 1), ('2^63', 2**63),
                          ('2^64 - 1', 2**64 - 1), ('2^64', 2**64), ('2^64 + 1', 2**64 + 1), ('10^40', 10**40)):
        yield f'huge end {label}', f'0-{number}'
        yield f'huge suffix {label}', f'-{number}'
        yield f'huge start {label}', f'{number}-'
        yield f'huge both {label}', f'{number}-{number}'


MANY_RANGES = {
    'two': '0-9,20-29',
    'three of one byte': '0-0,2-2,4-4',
    'first and suffix': '0-0,-1',
    'adjacent': '0-9,10-19',
    'adjacent, all of 100': '0-49,50-99',
    'overlapping': '0-9,5-14',
    'overlapping, three': '0-49,25-74,50-98',
    'within another': '0-49,10-19',
    'the same twice': '0-9,0-9',
    'a small gap': '0-9,11-19',
    'descending': '40-49,20-29,0-9',
    'descending and overlapping': '10-29,0-19',
    'all and the last': '0-,-1',
    'all twice': '0-,0-',
    'one unsatisfiable': '0-9,10000000000-',
    'one unsatisfiable, first': '10000000000-10000000001,0-9',
    'one suffix of 0': '0-9,-0',
    'all unsatisfiable': '10000000000-,20000000000-20000000001,-0',
    'huge among others': f'0-9,{1 << 64}-,20-29',
    'huge end among others': f'0-9,90-{1 << 64}',
    'spaces after commas': '0-9, 20-29',
    'spaces around commas': '0-9 , 20-29',
    'tabs around commas': '0-9\t,\t20-29',
    'empty element': '0-9,,20-29',
    'empty elements in front': ', ,0-9',
    'empty element at the end': '0-9,',
    '100 ranges': ','.join(f'{number}-{number}' for number in range(0, 200, 2)),
    '101 ranges': ','.join(f'{number}-{number}' for number in range(0, 202, 2)),
    '500 ranges': ','.join(f'{number}-{number}' for number in range(0, 1000, 2)),
    '50 times all': ','.join(['0-'] * 50),
    'malformed among others': '0-9,x,20-29',
    'end before start among others': '0-9,5-3',
}

MALFORMED_RANGES = {
    'nothing': '', 'unit alone': 'bytes', 'no set': 'bytes=', 'comma alone': 'bytes=,', 'hyphen': 'bytes=-',
    'two hyphens': 'bytes=--1', 'letters': 'bytes=a-b', 'no hyphen': 'bytes=5', 'hexadecimal': 'bytes=0x0-0x5',
    'plus in front': 'bytes=+0-5', 'plus in the middle': 'bytes=0-+5', 'negative end': 'bytes=0--5',
    'hyphen at the end': 'bytes=0-5-', 'three numbers': 'bytes=0-5-7', 'semicolon': 'bytes=0-5;7-8',
    'space for the equals sign': 'bytes 0-5', 'colon for the equals sign': 'bytes:0-5', 'end before start': 'bytes=5-3',
    'space before the equals sign': 'bytes =0-5', 'space after the equals sign': 'bytes= 0-5',
    'space before the hyphen': 'bytes=0 -5', 'space after the hyphen': 'bytes=0- 5',
    'space within a number': 'bytes=1 0-20',
    'number after a range': 'bytes=0-5 6', 'quoted': 'bytes="0-5"', 'no unit': '=0-5', 'numbers alone': '0-5',
    'size appended': 'bytes=0-5/100', 'asterisk': 'bytes=*', 'fraction': 'bytes=1.0-2', 'exponent': 'bytes=0-1e1',
    'en dash': 'bytes=0\u20135', 'Arabic digits': 'bytes=\u0660-\u0665', 'fullwidth digits': 'bytes=\uff10-\uff15',
    'unit twice': 'bytes=bytes=0-5', 'sets twice': 'bytes=0-5,bytes=7-8',
}

UNITS = {'upper case': 'BYTES=0-5', 'mixed case': 'bYtEs=0-5', 'items': 'items=0-5', 'none': 'none=0-5',
         'byte': 'byte=0-5', 'bytess': 'bytess=0-5', 'x-bytes': 'x-bytes=0-5', 'another grammar': 'seconds=1.5;2.5'}

# Lists of entity tags: the value, and whether it matches in a strong and in a weak comparison. None: the value is
# malformed, and the RFC does not say what a recipient does with it.
TAG_LISTS = {
    'exact': ('{etag}', True, True),
    'asterisk': ('*', True, True),
    'weak': ('{weak}', False, True),
    'other': ('"other"', False, False),
    'other weak': ('W/"other"', False, False),
    'empty tag': ('""', False, False),
    'quoted asterisk': ('"*"', False, False),
    'prefix of the tag': ('"{prefix}"', False, False),
    'longer tag': ('"{opaque}x"', False, False),
    'list, first': ('{etag}, "a", "b"', True, True),
    'list, middle': ('"a", {etag}, "b"', True, True),
    'list, last': ('"a", "b", {etag}', True, True),
    'list, weak': ('"a", {weak}, "b"', False, True),
    'list, weak and strong': ('{weak}, {etag}', True, True),
    'list, no match': ('"a", W/"b", "c"', False, False),
    'list without spaces': ('"a",{etag},"b"', True, True),
    'list with tabs': ('"a"\t,\t{etag}\t', True, True),
    'list with empty elements': (', ,"a",,{etag},', True, True),
    'list of 300': (', '.join(f'"{number}"' for number in range(300)) + ', {etag}', True, True),
    'comma in a tag': ('"a,b", {etag}', True, True),
    'tag within a tag': ('"a,{opaque},b"', False, False),
    'backslash ends a tag': ('"a\\", {etag}', True, True),
    'octets over 127 in a tag': ('"\u00e9", {etag}', True, True),
    'two lines': (('"a"', '{etag}'), True, True),
    'two lines, no match': (('"a"', 'W/"b"'), False, False),
    'no quotes': ('{opaque}', None, None),
    'lower-case w': ('w/{etag}', None, None),
    'no end': ('"{opaque}', None, None),
    'asterisk in a list': ('"a", *', None, None),
    'nothing': ('', None, None),
}

# Values of the fields with dates: the value, and how the date compares with that of the file. None: not an HTTP-date.
DATES = {
    'equal': ('{date}', 0),
    'older': ('{older}', -1),
    'newer': ('{newer}', 1),
    'RFC 850, equal': ('{rfc850}', 0),
    'RFC 850, older': ('Saturday, 05-Nov-94 08:49:37 GMT', -1),
    'RFC 850, newer': ('Monday, 07-Nov-94 08:49:37 GMT', 1),
    'asctime, equal': ('{asctime}', 0),
    'asctime, older': ('Sat Nov  5 08:49:37 1994', -1),
    'asctime, newer': ('Wed Nov 16 08:49:37 1994', 1),
    'the epoch': ('Thu, 01 Jan 1970 00:00:00 GMT', -1),
    'before the epoch': ('Fri, 31 Dec 1965 23:59:59 GMT', -1),
    'the year 9999': ('Fri, 31 Dec 9999 23:59:59 GMT', 1),
    'a leap second': ('Sat, 31 Dec 2016 23:59:60 GMT', 1),
    'February 29': ('Thu, 29 Feb 2024 12:00:00 GMT', 1),
    'malformed, nothing': ('', None),
    'malformed, 0': ('0', None),
    'malformed, -1': ('-1', None),
    'malformed, a word': ('yesterday', None),
    'malformed, ISO 8601': ('2030-11-06T08:49:37Z', None),
    'malformed, an entity tag': ('{etag}', None),
    'malformed, February 30': ('Thu, 30 Feb 2034 12:00:00 GMT', None),
    'malformed, the hour 25': ('Sun, 06 Nov 2033 25:49:37 GMT', None),
    'malformed, the minute 60': ('Sun, 06 Nov 2033 08:60:37 GMT', None),
    'malformed, a month': ('Sun, 06 Nvo 2033 08:49:37 GMT', None),
    'malformed, cut': ('Sun, 06 Nov 2033 08:49', None),
    # Recipients are encouraged to be robust with these: either reading is right.
    'lenient, no zone': ('Sun, 06 Nov 1994 08:49:37', 'any'),
    'lenient, UTC': ('Sun, 06 Nov 1994 08:49:37 UTC', 'any'),
    'lenient, +0000': ('Sun, 06 Nov 1994 08:49:37 +0000', 'any'),
    'lenient, another zone': ('Sun, 06 Nov 1994 00:49:37 PST', 'any'),
    'lenient, lower case': ('sun, 06 nov 1994 08:49:37 gmt', 'any'),
    'lenient, another weekday': ('Mon, 06 Nov 1994 08:49:37 GMT', 'any'),
    'lenient, one digit': ('Sun, 6 Nov 1994 08:49:37 GMT', 'any'),
    'lenient, a length': ('{date}; length=100', 'any'),
    'lenient, text appended': ('{date} x', 'any'),
}

# Values of If-Range: the value, and whether it matches. None: malformed, which is no match either.
IF_RANGES = {
    'the tag': ('{etag}', True), 'the tag as a weak one': ('{weak}', False), 'another tag': ('"other"', False),
    'prefix of the tag': ('"{prefix}"', False), 'the date': ('{date}', True), 'an older date': ('{older}', False),
    'a newer date': ('{newer}', False), 'the date as of RFC 850': ('{rfc850}', True),
    'the date of asctime': ('{asctime}', True), 'malformed, a word': ('yesterday', None),
    'malformed, no quotes': ('{opaque}', None), 'malformed, a list': ('{etag}, "a"', None),
    'malformed, a list, last': ('"a", {etag}', None), 'malformed, asterisk': ('*', None),
    'malformed, nothing': ('', None), 'malformed, lower-case w': ('w/{etag}', None),
    'malformed, no end': ('"{opaque}', None), 'malformed, quote alone': ('"', None),
    'malformed, the date in quotes': ('"{date}"', None),
}

METHODS = ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'MKCOL', 'UNHEARD', 'get', 'Head', 'GETX']


def by_precedence(has, satisfiable, method):
    """Returns the status of section 13.2.2; `has` maps the fields of a request to whether their condition is true."""
    if not has.get('If-Match', has.get('If-Unmodified-Since', True)):
        return 412
    if not has.get('If-None-Match', has.get('If-Modified-Since', True)):
        return 304
    if satisfiable is None or method != 'GET' or not has.get('If-Range', True):
        return 200
    return 206 if satisfiable else 416


def request_cases():
    """Yields name, file, fields and the only right statuses of GET and HEAD, or None."""
    for file, size in SIZES.items():
        yield f'plain/no field/{file}', file, [], (200, 200)
        for label, value in range_sets(size):
            yield f'range/{label}/{file}', file, [('Range', f'bytes={value}')], None
    for label, value in MANY_RANGES.items():
        for file in ('hundred', 'medium', 'large'):
            yield f'ranges/{label}/{file}', file, [('Range', f'bytes={value}')], None
    for file in ('empty', 'one'):
        for label in ('two', 'first and suffix', 'all twice', 'all unsatisfiable'):
            yield f'ranges/{label}/{file}', file, [('Range', f'bytes={MANY_RANGES[label]}')], None
    for label, value in MALFORMED_RANGES.items():
        yield f'malformed/{label}/hundred', 'hundred', [('Range', value)], None
    for label, value in UNITS.items():
        is_bytes = value.lower().startswith('bytes=')
        yield f'unit/{label}/hundred', 'hundred', [('Range', value)], (206 if is_bytes else 200, 200)
    yield 'unit/name in upper case/hundred', 'hundred', [('RANGE', 'bytes=0-5')], (206, 200)
    yield 'unit/name in lower case/hundred', 'hundred', [('range', 'bytes=0-5')], (206, 200)
    yield 'unit/spaces around the value/hundred', 'hundred', [('Range', ' \t bytes=0-5 \t ')], (206, 200)
    yield 'unit/two lines/hundred', 'hundred', [('Range', 'bytes=0-5'), ('Range', 'bytes=10-15')], None

    for name, is_strong, false_status in (('If-Match', True, 412), ('If-None-Match', False, 304)):
        for label, (value, strong, weak) in TAG_LISTS.items():
            matches = strong if is_strong else weak
            lines = [(name, line) for line in ([value] if isinstance(value, str) else value)]
            status = None if matches is None else 200 if matches == is_strong else false_status
            for file in ('hundred', 'empty') if label in ('exact', 'asterisk', 'other', 'weak') else ('hundred',):
                yield f'{name}/{label}/{file}', file, lines, None if status is None else (status, status)
    for name, true_orders, false_status in (('If-Modified-Since', [-1], 304), ('If-Unmodified-Since', [0, 1], 412)):
        for label, (value, order) in DATES.items():
            status = None if order == 'any' else 200 if order in [None, *true_orders] else false_status
            for file in ('hundred', 'empty') if label in ('equal', 'older', 'newer') else ('hundred',):
                yield f'{name}/{label}/{file}', file, [(name, value)], None if status is None else (status, status)

    for label, (value, matches) in IF_RANGES.items():
        for ranges, satisfied in (('bytes=0-9', 206), ('bytes=0-9,20-29', 206), ('bytes=-5', 206), ('bytes=100-', 416)):
            status = satisfied if matches else 200
            yield (f'If-Range/{label}/{ranges}', 'hundred', [('If-Range', value), ('Range', ranges)], (status, 200))
        yield f'If-Range/{label}/no range', 'hundred', [('If-Range', value)], (200, 200)
    yield ('If-Range/the tag/malformed range', 'hundred', [('If-Range', '{etag}'), ('Range', 'bytes=x')], None)
    yield ('If-Range/the tag after it', 'hundred', [('Range', 'bytes=0-9'), ('If-Range', '{etag}')], (206, 200))
    yield ('If-Range/no match after it', 'hundred', [('Range', 'bytes=0-9'), ('If-Range', '"other"')], (200, 200))

    for label, fields, status in (
            ('If-Range with the tag', [('If-Range', '{etag}'), ('Range', 'bytes=0-9')], 200),
            ('If-Range with the date', [('If-Range', '{date}'), ('Range', 'bytes=0-9')], 200),
            ('range', [('Range', 'bytes=0-9')], 206),
            ('If-Match with the tag', [('If-Match', '{etag}')], 412),
            ('If-Match with an asterisk', [('If-Match', '*')], 200),
            ('If-None-Match with the tag', [('If-None-Match', '{etag}')], 304),
            ('If-None-Match with the weak tag', [('If-None-Match', '{weak}')], 304),
            ('If-None-Match with the tag as a strong one', [('If-None-Match', '"{opaque}"')], 304)):
        yield f'weak/{label}/{FRESH}', FRESH, fields, (status, 200 if 'Range' in dict(fields) else status)
    yield 'missing/no field', 'missing', [], (404, 404)
    for name, value in (('Range', 'bytes=0-9'), ('If-Match', '*'), ('If-None-Match', '*'),
                        ('If-Modified-Since', '{newer}'), ('If-Unmodified-Since', '{older}')):
        yield f'missing/{name}', 'missing', [(name, value)], (404, 404)


def precedence_cases():
    """Yields all combinations of true, false and absent conditions, and of no range and ranges inside and outside."""
    values = {'If-Match': {True: '"a", {etag}', False: '"a"'},
              'If-Unmodified-Since': {True: '{date}', False: '{older}'},
              'If-None-Match': {True: '"a"', False: '"a", {etag}'},
              'If-Modified-Since': {True: '{older}', False: '{date}'},
              'If-Range': {True: '{etag}', False: '"a"'}}
    for states in itertools.product((None, True, False), repeat=len(values)):
        has = {name: state for name, state in zip(values, states) if state is not None}
        for satisfiable, ranges in ((None, None), (True, 'bytes=10-19'), (False, 'bytes=100-')):
            if len(has) < 2 - (satisfiable is not None):
                continue
            fields = [(name, values[name][state]) for name, state in has.items()]
            fields += [('Range', ranges)] if ranges else []
            words = [f'{name} {"true" if state else "false"}' for name, state in has.items()]
            words += ['no range' if satisfiable is None else 'range' if satisfiable else 'unsatisfiable']
            yield ('precedence/' + ', '.join(words), 'hundred', fields,
                   (by_precedence(has, satisfiable, 'GET'), by_precedence(has, satisfiable, 'HEAD')))


def all_cases():
    for name, file, fields, statuses in itertools.chain(request_cases(), precedence_cases()):
        for index, method in enumerate(('GET', 'HEAD')):
            yield Case(f'{name}/{method}', file, method, fields, statuses and statuses[index])
    for method in METHODS:
        yield Case(f'method/no field/{method}', 'hundred', method, [], None)
        for name, value in (('Range', 'bytes=0-9'), ('If-Match', '"a"'), ('If-None-Match', '{etag}')):
            yield Case(f'method/{name}/{method}', 'hundred', method, [(name, value)], None)


# ---------------------------------------------------------------------------------------------------------------------
# The differences that are right: the case, the answers of nginx and of `blob serve`, and why the latter is allowed.

EXPLAINED = [
    ('*/HEAD', '206* -> 200', '14.2: Range is defined for GET only, and ignored with HEAD'),
    ('*/HEAD', '416 -> 200', '14.2: Range is defined for GET only, and ignored with HEAD'),
    ('range/huge end *', '416 -> 206', '14.1.1 and 14.1.2: a last-pos of any size is valid, and means the end'),
    ('range/huge suffix *', '416 -> 206', '14.1.1 and 14.1.2: a suffix of any size is valid, and means the whole'),
    ('ranges/huge *', '416 -> 206*', '14.1.1 and 14.1.2: positions of any size are valid'),
    ('range/*/empty/*', '200 -> 416', '14.1.2: no first-pos, and no suffix-length of 0, is satisfiable in 0 bytes'),
    ('range/*/empty/*', '416 -> 200', '14.2: a server may ignore Range; no Content-Range can state 0 bytes'),
    ('ranges/*/empty/*', '200 -> 416', '14.1.2: no first-pos, and no suffix-length of 0, is satisfiable in 0 bytes'),
    ('ranges/*/empty/*', '416 -> 200', '14.2: a server may ignore Range; no Content-Range can state 0 bytes'),
    ('ranges/*', '206 multipart* -> 206*', '15.3.7.2: a server may coalesce ranges that overlap or have a small gap'),
    ('ranges/*', '200 -> 206*', '14.2: whether many overlapping ranges are ignored is the choice of the server'),
    ('ranges/101 ranges/*', '206* -> 200', '14.2: a server may ignore sets of many small ranges'),
    ('ranges/500 ranges/*', '206* -> 200', '14.2: a server may ignore sets of many small ranges'),
    ('ranges/101 ranges/*', '206* -> 416', '14.2: a server may reject sets of many small ranges'),
    ('ranges/500 ranges/*', '206* -> 416', '14.2: a server may reject sets of many small ranges'),
    ('ranges/50 times all/*', '200 -> 416', '14.2: a server may reject more than two overlapping ranges'),
    ('ranges/overlapping, three/*', '206* -> 200', '14.2: a server may ignore more than two overlapping ranges'),
    ('ranges/tabs around commas/*', '416 -> 206*', '5.6.1: a tab is allowed around the commas of a list'),
    ('ranges/empty element*', '416 -> 206*', '5.6.1.2: a recipient accepts empty elements of a list'),
    ('ranges/malformed among others/*', '416 -> 200', '14.2: a server may ignore a malformed Range'),
    ('ranges/end before start among others/*', '206 -> 200', '14.1.1 and 14.2: last-pos < first-pos is malformed'),
    ('malformed/*', '416 -> 200', '14.2: a server may ignore a malformed Range'),
    ('malformed/*', '206 -> 200', '14.1.1: whitespace within a range is malformed; 14.2: a server may ignore it'),
    ('If-Range/the tag/malformed range/*', '416 -> 200', '14.2: a server may ignore a malformed Range'),
    ('unit/spaces around the value/*', '200 -> 206', '5.5 and 5.6.3: tabs around a value are not part of it'),
    ('unit/two lines/*', '206 -> 200', '14.2: a server may ignore a malformed Range; it is no list, 5.3'),
    ('unit/two lines/*', '206 -> 400', '5.3: several lines of a field that is no list are malformed'),
    ('If-Match/list with empty elements/*', '412 -> 200', '5.6.1.2: a recipient accepts empty elements of a list'),
    ('If-Match/list with tabs/*', '412 -> 200', '5.6.1: a tab is allowed around the commas of a list'),
    ('If-Match/two lines*', '400 -> *', '5.3: several lines of a list are one list'),
    ('If-Match/two lines*', '412 -> 200', '5.3: several lines of a list are one list'),
    ('If-None-Match/list with empty elements/*', '200 -> 304', '5.6.1.2: a recipient accepts empty elements of a list'),
    ('If-None-Match/list with tabs/*', '200 -> 304', '5.6.1: a tab is allowed around the commas of a list'),
    ('If-None-Match/two lines*', '400 -> *', '5.3: several lines of a list are one list'),
    ('If-None-Match/two lines*', '200 -> 304', '5.3: several lines of a list are one list'),
    ('If-Unmodified-Since/malformed, *', '412 -> 200', '13.1.4: a value that is no HTTP-date is ignored'),
    ('If-Modified-Since/malformed, *', '304 -> 200', '13.1.3: a value that is no HTTP-date is ignored'),
    ('If-*-Since/a leap second/*', '* -> *', '5.6.7: the second 60 is valid'),
    ('If-Modified-Since/lenient, *', '* -> *', '5.6.7: a recipient may read a date that the grammar does not allow'),
    ('If-Unmodified-Since/lenient, *', '* -> *', '5.6.7: a recipient may read a date that the grammar does not allow'),
    ('precedence/If-Match true, If-Unmodified-Since false*', '412 -> *',
     '13.1.4: If-Unmodified-Since is ignored with If-Match'),
    ('precedence/*If-None-Match false, If-Modified-Since true*', '20[06] -> 304',
     '13.1.3: If-Modified-Since is ignored with If-None-Match'),
    ('precedence/*If-None-Match false, If-Modified-Since true*', '416 -> 304',
     '13.1.3: If-Modified-Since is ignored with If-None-Match'),
    ('weak/If-Range *', '206 -> 200', '13.1.5 and 8.8.2: a validator of a file that may still change is weak'),
    ('weak/If-Match with the tag/*', '200 -> 412', '13.1.1: the comparison is strong, the tag of a fresh file weak'),
    ('weak/*', 'last-modified: * -> *', '8.8.2.1: Last-Modified is not later than Date'),
    ('method/*/UNHEARD', '405 -> 400', '9.1: an unknown method should be answered with 501, but need not be'),
    ('method/*/GETX', '405 -> 400', '9.1: an unknown method should be answered with 501, but need not be'),
    ('method/*', '405 -> 501', '9.1: 501 is for a method that is not implemented'),
    ('method/*', '400 -> 405', '9.1: a method is case-sensitive, and any token is one'),
    ('method/*', '400 -> 501', '9.1: a method is case-sensitive, and any token is one'),
    ('*', '304 -> 304 without Last-Modified', '15.4.5: beside ETag, Last-Modified is not needed'),
    ('If-Range/*', '206* -> 206* without Last-Modified', '15.3.7: with If-Range, only required fields are sent'),
]

# ---------------------------------------------------------------------------------------------------------------------
# HTTP


class Answer:
    """A response: its status, its fields by lower-case name, and its body."""

    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body
        self.ranges, self.faults = [], []  # (first, last, size, bytes) of each; what is wrong with the framing.
        if status == 206:
            self.read_ranges()

    def field(self, name):
        return self.fields.get(name, [None])[0]

    def read_ranges(self):
        media_type = self.field('content-type') or ''
        parameters = re.fullmatch(r'multipart/byteranges\s*;\s*boundary="?([^";]+)"?', media_type, re.I)
        if not parameters:
            self.add_range(self.field('content-range'), self.body)
            return
        if self.field('content-range') is not None:
            self.faults.append('Content-Range in the head of a multipart answer (15.3.7.2)')
        if not self.body:
            return  # Of HEAD.
        delimiter = b'\r\n--' + parameters[1].encode('latin-1')
        first, *parts = (b'\r\n' + self.body).split(delimiter)
        if first.strip() or not parts or not parts[-1].startswith(b'--'):
            self.faults.append('no multipart body')
        for part in parts[:-1]:
            head, _, bytes = part.partition(b'\r\n\r\n')
            fields = read_fields(head.split(b'\r\n')[1:])
            self.add_range(fields.get('content-range', [None])[0], bytes)
            self.part_type = fields.get('content-type', [None])[0]

    def add_range(self, text, bytes):
        numbers = re.fullmatch(r'bytes (\d+)-(\d+)/(\d+)', text or '')
        if numbers:
            self.ranges.append((*map(int, numbers.groups()), bytes))
        else:
            self.faults.append(f'Content-Range: {text}')

    @property
    def is_multipart(self):
        return self.status == 206 and (self.field('content-type') or '').lower().startswith('multipart/')

    @property
    def kind(self):
        """The status, and what is unusual about the answer."""
        words = [str(self.status)] + (['multipart'] if self.is_multipart else [])
        if self.status in (200, 206, 304):
            words += [f'without {name}' for name in ('ETag', 'Last-Modified') if self.field(name.lower()) is None]
        return ' '.join(words)

    def covered(self, gap=0):
        """The ranges, sorted, and joined where they overlap or are at most `gap` bytes apart."""
        joined = []
        for first, last in sorted((first, last) for first, last, _, _ in self.ranges):
            if joined and first <= joined[-1][1] + 1 + gap:
                joined[-1][1] = max(joined[-1][1], last)
            else:
                joined.append([first, last])
        return joined

    def __str__(self):
        fields = [f'    {name}: {value}' for name, values in self.fields.items() for value in values]
        ranges = [f'    bytes {first}-{last}/{size}: {len(data)} bytes' for first, last, size, data in self.ranges[:6]]
        return '\n'.join([f'    {self.kind}', *fields, f'    ({len(self.body)} bytes of body)', *ranges])


def read_fields(lines):
    fields = {}
    for line in lines:
        name, _, value = line.partition(b':')
        fields.setdefault(name.decode('latin-1').lower(), []).append(value.strip(b' \t').decode('latin-1'))
    return fields


class Connection:
    """A connection to a server, made again when the server has closed it."""

    def __init__(self, address, patience=PATIENCE):
        self.address, self.patience, self.socket, self.rest = address, patience, None, b''

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket, self.rest = None, b''

    def send(self, bytes):
        if not self.socket:
            self.socket = socket.create_connection(self.address, self.patience)
        self.socket.sendall(bytes)

    def receive(self):
        bytes = self.socket.recv(1 << 16)
        if not bytes:
            raise ConnectionError('the server closed the connection' + (' within an answer' if self.rest else ''))
        return bytes

    def line(self):
        while b'\r\n' not in self.rest:
            self.rest += self.receive()
        line, self.rest = self.rest.split(b'\r\n', 1)
        return line

    def exactly(self, count):
        parts, length = [self.rest], len(self.rest)
        while length < count:
            parts.append(self.receive())
            length += len(parts[-1])
        bytes = b''.join(parts)
        self.rest = bytes[count:]
        return bytes[:count]

    def until_closed(self):
        parts = [self.rest]
        while parts[-1] or len(parts) == 1:
            parts.append(self.socket.recv(1 << 20))
        return b''.join(parts)

    def answer(self, method):
        """Returns the next answer."""
        start = self.line()
        status = re.match(rb'HTTP/1\.[01] (\d{3})( |$)', start)
        if not status:
            raise ConnectionError(f'no status line: {start[:100]}')
        lines = list(iter(self.line, b''))
        fields, status = read_fields(lines), int(status[1])
        if 100 <= status < 200:
            return self.answer(method)
        length, body = fields.get('content-length', [None])[0], b''
        is_closing = fields.get('connection', [''])[0].lower() == 'close'
        if method == 'HEAD' or status in (204, 304):
            pass
        elif fields.get('transfer-encoding', [''])[0].lower() == 'chunked':
            while count := int(self.line().split(b';')[0], 16):
                body += self.exactly(count)
                self.line()
            while self.line():
                pass
        elif length is not None:
            body = self.exactly(int(length))
        else:
            body, is_closing = self.until_closed(), True
        if is_closing:
            self.close()
        return Answer(status, fields, body)

    def ask(self, method, target, fields=()):
        """Sends a request without a body, and returns the answer; twice, if a kept connection had been closed."""
        lines = [f'{method} {target} HTTP/1.1', 'Host: ' + ':'.join(map(str, self.address))]
        lines += [f'{name}: {value}' for name, value in fields]
        lines += [] if method.upper() in ('GET', 'HEAD') else ['Content-Length: 0']
        bytes = '\r\n'.join([*lines, '', '']).encode()
        was_kept = self.socket is not None
        try:
            self.send(bytes)
            return self.answer(method)
        except ConnectionError:
            self.close()
            if not was_kept:
                raise
        self.send(bytes)
        return self.answer(method)


class BlobServer:
    """A `blob serve`, which prints its URL first."""

    def __init__(self, blob, *arguments):
        self.messages = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [os.path.abspath(blob), 'serve', *arguments], stdout=subprocess.PIPE, stderr=self.messages, text=True)
        self.url = self.process.stdout.readline().strip()
        parts = re.fullmatch(r'http://(127\.0\.0\.1):(\d+)(/.*)', self.url)
        if not parts:
            self.stop()
            sys.exit(f'blob serve did not print its URL, but: {self.url}\n{self.last_messages()}')
        self.address, self.path = (parts[1], int(parts[2])), parts[3]

    def all_messages(self):
        return os.pread(self.messages.fileno(), os.fstat(self.messages.fileno()).st_size, 0)

    def last_messages(self):
        return self.all_messages()[-2000:].decode(errors='replace')

    def stop(self):
        """Ends the server, and returns its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Nginx:
    """An nginx over a folder."""

    def __init__(self, program, folder, served):
        # nginx inherits the listening socket, as it does from an older nginx in an upgrade: the port is bound when it
        # is chosen, and connections wait in the backlog until nginx accepts them.
        listener = socket.create_server(('127.0.0.1', 0), backlog=64)
        self.address, self.path = listener.getsockname(), '/'
        kinds = ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')
        paths = ' '.join(f'{kind}_temp_path {folder}/{kind};' for kind in kinds)
        with open(f'{folder}/nginx.conf', 'w') as file:
            file.write(f'''daemon off; worker_processes 1; pid {folder}/pid; error_log stderr crit;
                events {{ worker_connections 64; }}
                http {{ access_log off; keepalive_requests 1000000; if_modified_since before; {paths}
                  server {{ listen 127.0.0.1:{self.address[1]}; root {served}; }} }}''')
        with open(f'{folder}/errors', 'wb') as errors:
            self.process = subprocess.Popen(
                [program, '-p', folder, '-c', f'{folder}/nginx.conf', '-e', 'stderr'], pass_fds=[listener.fileno()],
                env=os.environ | {'NGINX': f'{listener.fileno()};'}, stderr=errors)
        listener.close()

    def stop(self):
        self.process.terminate()
        return self.process.wait()


class Side:
    """A server with a connection and the validators of its files."""

    def __init__(self, server, prefix):
        self.server, self.prefix = server, server.path + prefix
        self.connection, self.values, self.types = Connection(server.address), {}, {}
        deadline = time.monotonic() + PATIENCE
        for name in SIZES:
            # The files have just been made: until that was more than 2 seconds ago, a tag may be weak.
            while self.learn(name).startswith('W/'):
                if time.monotonic() > deadline:
                    sys.exit(f'The ETag of {name} stays weak.')

    def learn(self, name):
        """Asks for the validators of a file; returns its tag."""
        answer = self.connection.ask('HEAD', self.prefix + name)
        etag, date = answer.field('etag'), answer.field('last-modified')
        if answer.status != 200 or not etag or not date:
            sys.exit(f'HEAD of {name} was answered with:\n{answer}')
        self.values[name], self.types[name] = values_of(etag, date), answer.field('content-type')
        return etag

    def ask(self, case):
        if case.file == FRESH:
            self.learn(FRESH)
        values = self.values.get(case.file) or self.values['hundred']
        fields = [(name, re.sub(r'\{(\w+)\}', lambda found: values[found[1]], value)) for name, value in case.fields]
        return self.connection.ask(case.method, self.prefix + case.file, fields)


def values_of(etag, date):
    """The values of the placeholders, from the validators of a file."""
    opaque = etag.removeprefix('W/').strip('"')
    time = email.utils.parsedate_to_datetime(date)
    seconds = int(time.timestamp())
    return {'etag': etag, 'opaque': opaque, 'prefix': opaque[:-1], 'weak': f'W/"{opaque}"', 'date': date,
            'older': email.utils.formatdate(seconds - 1, usegmt=True),
            'newer': email.utils.formatdate(seconds + 1, usegmt=True),
            'rfc850': time.strftime('%A, %d-%b-%y %H:%M:%S GMT'), 'asctime': time.strftime('%a %b %e %H:%M:%S %Y')}


# ---------------------------------------------------------------------------------------------------------------------
# The judgement


def faults_of(case, answer, content, side):
    """What is wrong with an answer, whatever another server does."""
    faults = list(answer.faults)
    if case.status is not None and answer.status != case.status:
        faults.append(f'the status is not {case.status}')
    if answer.field('date') is None:
        faults.append('no Date (6.6.1)')
    if side.connection.rest:
        faults.append('bytes after the answer')
    length, values = answer.field('content-length'), side.values.get(case.file)
    if values and answer.status in (200, 206, 304):
        for name, key in (('etag', 'etag'), ('last-modified', 'date')):
            if answer.field(name) not in (None, values[key]) and (case.file, key) != (FRESH, 'date'):
                faults.append(f'{name} is not {values[key]}')
    modified, date = (email.utils.parsedate(answer.field(name) or '') for name in ('last-modified', 'date'))
    if modified and date and modified > date:
        faults.append('Last-Modified is later than Date (8.8.2.1)')
    if answer.status in (200, 206, 304) and answer.field('etag') is None:
        faults.append('no ETag (15.3.7, 15.4.5)')
    if answer.status not in (206, 416) and answer.field('content-range') is not None:
        faults.append('Content-Range (14.4)')
    if answer.status == 200:
        if length != str(len(content)):
            faults.append(f'Content-Length is not {len(content)}')
        if answer.body != (content if case.method == 'GET' else b''):
            faults.append('other bytes')
    elif answer.status == 206:
        if case.method != 'GET':
            faults.append('206, but not to GET (14.2)')
        if not any(name.lower() == 'range' for name, _ in case.fields):
            faults.append('206, but no Range')
        if not answer.ranges:
            faults.append('no ranges')
        for first, last, size, bytes in answer.ranges:
            if size != len(content) or not first <= last < size or bytes != content[first:last + 1]:
                faults.append(f'wrong range {first}-{last}/{size}, {len(bytes)} bytes')
        if answer.is_multipart and answer.part_type != side.types[case.file]:
            faults.append(f'Content-Type of a part is {answer.part_type}, not {side.types[case.file]} (15.3.7.2)')
    elif answer.status == 304:
        if length not in (None, str(len(content))):
            faults.append(f'Content-Length is not {len(content)} (8.6)')
    elif answer.status == 405:
        allowed = {method.strip() for method in (answer.field('allow') or '').split(',')}
        if not {'GET', 'HEAD'} <= allowed:
            faults.append(f'Allow is {answer.field("allow")} (15.5.6)')
        if case.method in ('GET', 'HEAD'):
            faults.append('405')
    elif answer.status == 416:
        if answer.field('content-range') != f'bytes */{len(content)}':
            faults.append(f'Content-Range is not bytes */{len(content)} (15.5.17)')
    elif answer.status not in (400, 404, 412, 501):
        faults.append('unexpected status')
    return faults


def difference(nginx, ours):
    """The difference of two answers, as EXPLAINED has it, or None."""
    if nginx.kind != ours.kind:
        return f'{nginx.kind} -> {ours.kind}'
    if nginx.status == 206 and nginx.ranges != ours.ranges:
        texts = [','.join(f'{first}-{last}' for first, last, _, _ in answer.ranges) for answer in (nginx, ours)]
        return f'{nginx.kind} {texts[0]} -> {ours.kind} {texts[1]}'
    if nginx.status in (200, 206) and not nginx.is_multipart:
        for name in ('content-length', 'content-range', 'last-modified'):
            values = nginx.field(name), ours.field(name)
            if values[0] != values[1] and (name != 'last-modified' or all(values)):
                return f'{name}: {values[0]} -> {values[1]}'
        if nginx.body != ours.body:
            return 'body -> other body'
    return None


def reason_for(case, text):
    for pattern, transition, reason in EXPLAINED:
        if fnmatch.fnmatchcase(case.name, pattern) and fnmatch.fnmatchcase(text, transition):
            return reason
    return None


def make_files(folder):
    os.mkdir(folder)
    contents = {}
    for name, size in [*SIZES.items(), (FRESH, 1000)]:
        contents[name] = random.Random(name).randbytes(size)
        with open(f'{folder}/{name}', 'wb') as file:
            file.write(contents[name])
        modified = MODIFIED if name in SIZES else os.stat(folder).st_mtime + 86400
        os.utime(f'{folder}/{name}', (modified, modified))
    return contents


def covers(answer, expected):
    """True when the ranges have all expected bytes, and no others than small gaps (15.3.7.2)."""
    covered = answer.covered()
    return answer.covered(OVERHEAD) == expected.covered(OVERHEAD) and all(
        any(outer[0] <= first and last <= outer[1] for outer in covered) for first, last, _, _ in expected.ranges)


def compare(cases, folder, contents, nginx, ours, is_listing):
    """Sends all cases to both sides, prints what is wrong, and returns whether nothing is."""
    equal, failed, explained = 0, 0, collections.defaultdict(list)
    for case in cases:
        if case.file == FRESH:
            os.utime(f'{folder}/{FRESH}', ns=(os.stat(f'{folder}/{FRESH}').st_mtime_ns,) * 2)
        expected = nginx.ask(case)
        try:
            answer = ours.ask(case)
        except (OSError, ValueError) as error:
            ours.connection.close()
            failed += 1
            print(f'FAILED: {case.name}: {error}\n  fields: {case.fields}\n  nginx:\n{expected}', flush=True)
            if ours.server.process.poll() is not None:
                sys.exit(f'blob serve ended with {ours.server.process.returncode}:\n{ours.server.last_messages()}')
            continue
        faults = faults_of(case, answer, contents.get(case.file, b''), ours)
        text = difference(expected, answer)
        if expected.ranges and answer.ranges and not covers(answer, expected):
            faults.append('the ranges are not those of nginx')
        reason = text and reason_for(case, text)
        if text and not reason:
            faults.append(f'unexplained difference: {text}')
        if faults:
            failed += 1
            print(f'FAILED: {case.name}: {"; ".join(faults)}\n  fields: {str(case.fields)[:500]}\n'
                  f'  nginx:\n{expected}\n  blob serve:\n{answer}', flush=True)
        elif reason:
            explained[reason].append(case.name)
        else:
            equal += 1
        if is_listing:
            print(f'{case.name}: {text or answer.kind}')
    for reason, names in sorted(explained.items()):
        print(f'explained by {reason}: {len(names)} cases')
        shown = names if is_listing or len(names) <= 6 else names[:5] + [f'and {len(names) - 5} more']
        print(textwrap.indent(textwrap.fill('; '.join(shown), 112, break_on_hyphens=False), '    '))
    count = sum(map(len, explained.values()))
    failures = f', {failed} FAILED' if failed else ''
    print(f'{equal + count + failed} cases: {equal} equal, {count} explained{failures}')
    return not failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('blob')
    parser.add_argument('--only', default='', help='cases whose name contains this')
    parser.add_argument('--list', action='store_true', help='print the outcome of each case, and all explained ones')
    options = parser.parse_args()
    program = shutil.which('nginx', path=os.environ.get('PATH', '') + ':/usr/sbin')
    if not program:
        print('nginx is not installed: nothing to compare with')
        sys.exit(77)
    cases = list(all_cases())
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), [name for name, count in collections.Counter(names).items() if count > 1]
    for pattern, _, _ in EXPLAINED:
        assert fnmatch.filter(names, pattern), f'EXPLAINED has a pattern without a case: {pattern}'

    folder = os.path.realpath(tempfile.mkdtemp(prefix='serve-conditions-'))
    os.chmod(folder, 0o755)  # A worker of nginx runs as another user, if this runs as root.
    servers = []
    try:
        contents = make_files(f'{folder}/files')
        servers.append(Nginx(program, folder, f'{folder}/files'))
        servers.append(BlobServer(options.blob, f'{folder}/files'))
        nginx, ours = Side(servers[0], ''), Side(servers[1], 'files/')
        if nginx.values['hundred']['date'] != ours.values['hundred']['date']:
            sys.exit(f'Last-Modified differs: {nginx.values["hundred"]["date"]}, {ours.values["hundred"]["date"]}')
        is_right = compare([case for case in cases if options.only in case.name], f'{folder}/files', contents,
                           nginx, ours, options.list)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder)
    sys.exit(0 if is_right else 1)


if __name__ == '__main__':
    main()
