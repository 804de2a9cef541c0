#!/usr/bin/env python3
"""Reads libraries whose sidecars or catalogues are damaged: mutated_libraries.py BLOB [--sidecars N] [--catalogues N].

Sidecars of XMP, AAE and Takeout lie beside pictures that are imported, listed and read; catalogues of the library, of
digiKam and of Shotwell are listed and checked. Every use must end by itself, within its time and 256 MiB, with success
or a typed error. Prints how many ended in which way; with the same seed, the damage is the same.
"""
import argparse, collections, json, os, plistlib, random, re, shutil, sqlite3, subprocess, sys, tempfile, threading, time, zlib

parser = argparse.ArgumentParser()
parser.add_argument('blob')
parser.add_argument('--sidecars', type=int, default=20_000)
parser.add_argument('--catalogues', type=int, default=20_000)
parser.add_argument('--seed', type=int, default=int(time.time()))
options = parser.parse_args()
blob = os.path.abspath(options.blob)
fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'AssetLibrarySourceTests/Fixtures')
chance = random.Random(options.seed)
SECONDS, MEMORY = 60, 256 << 20
STATUSES = (0, 64, 65, 66, 69, 70, 74, 75, 77)
JPEG = bytes.fromhex('ffd8ffc00011080001000803011100021101031101ffd9')
wrong, ends = [], collections.Counter()


def use(what, *arguments):
    """Runs the command, notes how it ends, and returns what it prints."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([blob, *arguments], stdout=output, stderr=errors)
        killer = threading.Timer(SECONDS, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        errors.seek(0), output.seek(0)
        text, printed = errors.read().decode(errors='replace'), output.read().decode(errors='replace')
        code = os.waitstatus_to_exitcode(status)
        process.returncode = code
        kinds = re.findall(r'^blob: (\w+):', text, re.MULTILINE)
        ends[(arguments[1] if arguments[0] == 'library' else arguments[0], kinds[0] if kinds else code)] += 1
        faults = [] if code in STATUSES else [f'ended with {code}']
        faults += ['trapped'] if 'Fatal error' in text or 'Sanitizer' in text else []
        faults += ['is no typed error'] if code not in (0, 64) and not kinds and not printed else []
        faults += [f'took {usage.ru_maxrss >> 10} MiB'] if usage.ru_maxrss << 10 > MEMORY else []
        if faults:
            wrong.append(what)
            print(f'WRONG: {what}: {" ".join(arguments)}: {", ".join(faults)}\n  {text[-400:]}', flush=True)
        return printed


def mutate(seed):
    """Returns the bytes with a few of them changed, doubled, moved or cut off."""
    mutated = bytearray(seed)
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        place, count = chance.randrange(len(mutated) + 1), chance.choice([1, 2, 8, 100])
        kind = chance.randrange(7)
        if kind == 0 and place < len(mutated):
            mutated[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            mutated[place:place + count] = chance.randbytes(count)
        elif kind == 2:
            del mutated[place:place + count]
        elif kind == 3:
            mutated[place:place] = mutated[place:place + count] * chance.choice([1, 3, 100])
        elif kind == 4:
            del mutated[place + 1:]
        elif kind == 5:
            mutated[place:place] = chance.choice([b'<', b'&#0;', b'"', b'{', b'[' * 500, b'\0', b'\xff', b'<a>' * 500])
        else:
            found = list(re.finditer(rb'-?\d+(\.\d+)?', mutated))
            if found:
                start, end = chance.choice(found).span()
                mutated[start:end] = chance.choice([b'0', b'-1', b'1e999', b'9' * 40, b'NaN', b'-9223372036854775808', b'65536'])
        if not mutated:
            break
    return bytes(mutated)


def sidecars(root):
    adjustment = {'adjustmentBaseVersion': 0, 'adjustmentData': zlib.compress(json.dumps({'adjustments': [
        {'identifier': 'Crop', 'settings': {'xOrigin': 1, 'yOrigin': 1, 'width': 4, 'height': 4, 'angle': 0.5}}]}).encode())[2:-4],
        'adjustmentFormatIdentifier': 'com.apple.photo', 'adjustmentFormatVersion': '1.5'}
    takeout = {'title': 'p.jpg', 'description': 'ä', 'photoTakenTime': {'timestamp': '1600000000', 'formatted': 'x'},
               'geoData': {'latitude': 48.1, 'longitude': 11.5, 'altitude': 500.0}, 'people': [{'name': 'a'}]}
    seeds = {'.xmp': [open(f'{fixtures}/{name}', 'rb').read() for name in ('aas.xmp', 'crs.xmp')],
             '.AAE': [plistlib.dumps(adjustment), plistlib.dumps(adjustment, fmt=plistlib.FMT_BINARY)],
             '.jpg.json': [json.dumps(takeout).encode(), json.dumps(takeout, indent=2).encode()]}
    library, made = f'{root}/library', 0
    use('a new library', 'library', 'create', library)
    while made < options.sidecars:
        folder = f'{root}/photos'
        os.mkdir(folder)
        for number in range(min(1000, options.sidecars - made)):
            ending = chance.choice(list(seeds))
            stem = f'{folder}/p{number}'
            with open(f'{stem}.jpg', 'wb') as file:
                file.write(JPEG + str(made).encode())
            with open(f'{stem}{ending}', 'wb') as file:
                file.write(mutate(chance.choice(seeds[ending])))
            made += 1
        what = f'sidecars {made - 1000} to {made}'
        urls = use(what, 'library', 'import', '--library', library, folder).split()
        use(what, 'library', 'ls', '-l', '--library', library)
        use(what, 'library', 'ls', '-l', '--library', folder)
        if urls:
            use(what, 'cat', '--library', library, '-o', '/dev/null', *urls[:200])
            use(what, 'library', 'remove', '--library', library, *urls)
        shutil.rmtree(folder)


def catalogues(root):
    library = f'{root}/own'
    use('a new library', 'library', 'create', library)
    os.mkdir(f'{root}/some')
    for number in range(30):
        with open(f'{root}/some/{number}.jpg', 'wb') as file:
            file.write(JPEG + str(number).encode())
    use('its photos', 'library', 'import', '--library', library, f'{root}/some')
    seeds = {}
    for name, path in (('catalog.sqlite', f'{library}/catalog.sqlite'),
                       ('digikam4.db', f'{fixtures}/Catalogues/digikam4.db'), ('photo.db', f'{fixtures}/Catalogues/photo.db')):
        copy = f'{root}/{name}'
        with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
            source.backup(target)
        target.execute('PRAGMA journal_mode = DELETE')
        target.close()
        seeds[name] = open(copy, 'rb').read()
    for number in range(options.catalogues):
        name = chance.choice(list(seeds))
        folder = library if name == 'catalog.sqlite' else f'{root}/other'
        os.makedirs(folder, exist_ok=True)
        for rest in ('-wal', '-shm', '-journal'):
            if os.path.exists(f'{folder}/{name}{rest}'):
                os.remove(f'{folder}/{name}{rest}')
        with open(f'{folder}/{name}', 'wb') as file:
            file.write(mutate(seeds[name]))
        place = folder if name == 'catalog.sqlite' else f'{folder}/{name}'
        commands = [('library', 'ls', '-l')] + ([('library', 'check')] if name == 'catalog.sqlite' else [])
        use(f'{name} {number}', *chance.choice(commands), '--library', place)


print(f'seed {options.seed}', flush=True)
with tempfile.TemporaryDirectory(prefix='mutated-') as root:
    os.environ['XDG_CACHE_HOME'] = f'{root}/cache'
    sidecars(root)
    catalogues(root)
print(f'{options.sidecars} sidecars, {options.catalogues} catalogues, {len(wrong)} wrong; '
      + ', '.join(f'{command} {end} {count}' for (command, end), count in ends.most_common()))
sys.exit(1 if wrong else 0)
