#!/usr/bin/env python3
"""Compares the facts of a library with those of exiftool: media_facts.py BLOB [--count N] [--work DIR].

Makes a set of media of Debian's packages golang-github-rwcarlsen-goexif-dev, digikam-data and mate-backgrounds, and of
variants of them that exiftool, ffmpeg, heif-enc and ImageMagick write; imports it, and prints for each of 12 fields how
many values are equal. Fails when fewer than 99 in 100 are. Not a part of CI: it needs those packages and minutes.
"""
import argparse, glob, json, os, random, subprocess, sys, tempfile

PLACES = ['/usr/share/gocode/src/github.com/rwcarlsen/goexif/**/*.jpg', '/usr/share/digikam/**/*.jpg',
          '/usr/share/backgrounds/mate/**/*.jpg', '/usr/share/backgrounds/mate/**/*.png']

# The name of the field here, those of exiftool's tags, the first that is there first, and the tolerance of numbers.
FIELDS = [
    ('media_type', ['MIMEType'], None), ('pixel_width', ['ImageWidth'], 0), ('pixel_height', ['ImageHeight'], 0),
    ('capture_date', ['DateTimeOriginal', 'CreationDate'], None),
    ('capture_offset', ['OffsetTimeOriginal', 'CreationDate'], None),
    ('camera_make', ['Make'], None), ('camera_model', ['Model'], None), ('lens_model', ['LensModel'], None),
    ('orientation', ['Orientation'], 0), ('place', ['GPSLatitude', 'GPSLongitude'], 1e-4),
    ('duration_milliseconds', ['Duration'], 1), ('live_photo_id', ['ContentIdentifier'], None),
]


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout


def variants(folder, originals, count, seed):
    """Writes further media until there are `count`."""
    chance = random.Random(seed)
    small = []
    for place, original in enumerate(originals[:40]):
        path = f'{folder}/small{place}.jpg'
        run('convert', original, '-resize', '320x240', path)
        if os.path.exists(path):
            small.append(path)
    number = len(os.listdir(folder))
    while number < count:
        kind = chance.choice(['jpg', 'jpg', 'jpg', 'png', 'tif', 'webp', 'heic', 'avif', 'mov', 'mp4'])
        base, path = chance.choice(small), f'{folder}/v{number}.{kind}'
        number += 1
        tags = [f'-EXIF:Make=Maker {chance.randint(0, 9)}', f'-EXIF:Model=M{chance.randint(0, 99)}',
                f'-EXIF:Orientation#={chance.randint(1, 8)}',
                f'-EXIF:DateTimeOriginal=20{chance.randint(10, 24)}:05:01 12:30:{chance.randint(10, 59)}']
        if chance.random() < 0.7:
            tags += [f'-EXIF:LensModel=Lens {chance.randint(10, 400)}mm', '-EXIF:OffsetTimeOriginal=+02:00']
        if chance.random() < 0.7:
            latitude, longitude = chance.uniform(-89, 89), chance.uniform(-179, 179)
            tags += [f'-EXIF:GPSLatitude={abs(latitude)}', f'-EXIF:GPSLatitudeRef={"N" if latitude > 0 else "S"}',
                     f'-EXIF:GPSLongitude={abs(longitude)}', f'-EXIF:GPSLongitudeRef={"E" if longitude > 0 else "W"}']
        if kind in ('mov', 'mp4'):
            seconds = chance.randint(1, 3)
            metadata = ['-metadata', f'location=+{chance.randint(10, 80)}.5000+0{chance.randint(10, 80)}.2500/']
            if kind == 'mov':
                metadata = ['-movflags', 'use_metadata_tags', '-metadata', f'com.apple.quicktime.content.identifier=P-{number}',
                            '-metadata', f'com.apple.quicktime.location.ISO6709=+{chance.randint(10, 80)}.5000-0{chance.randint(10, 80)}.2500/',
                            '-metadata', 'com.apple.quicktime.creationdate=2024-05-01T12:30:59+0200',
                            '-metadata', 'com.apple.quicktime.make=Apple', '-metadata', 'com.apple.quicktime.model=iPhone 12']
            run('ffmpeg', '-loglevel', 'error', '-y', '-f', 'lavfi', '-i',
                f'testsrc=size={chance.choice(["320x240", "640x360"])}:rate=10', '-t', f'{seconds}.{chance.randint(0, 9)}',
                '-pix_fmt', 'yuv420p', *metadata, path)
            continue
        if kind in ('heic', 'avif'):
            run('heif-enc', *(['-A'] if kind == 'avif' else []), '-q', '30', base, '-o', path)
        else:
            run('convert', base, '-rotate', str(chance.choice([0, 90])), '-strip', path)
        run('exiftool', '-q', '-m', '-overwrite_original', *tags, path)


# Readers rotate films and HEIF by properties of their own; what Exif says in a HEIF is for information.
ROTATIONS = {'video': {0: 1, 90: 6, 180: 3, 270: 8}, 'heif': {0: 1, 1: 8, 2: 3, 3: 6}}


def expected(row, tags, field):
    kind = row.get('MIMEType', '')
    if field == 'orientation' and (kind.startswith('video/') or kind in ('image/heic', 'image/heif', 'image/avif')):
        return ROTATIONS['video' if kind.startswith('video/') else 'heif'].get(row.get('Rotation'))
    if field == 'place':
        values = [row.get(tag) for tag in tags]
        return None if None in values or values == [0, 0] else values
    value = next((row[tag] for tag in tags if row.get(tag) not in (None, '')), None)
    if value is None:
        return None
    if field == 'duration_milliseconds':
        return round(float(value) * 1000)
    if field == 'capture_date':
        date = str(value)[:19]
        return None if date.startswith('0000') or not date[:4].isdigit() else date
    if field == 'capture_offset' and len(str(value)) > 6:
        return str(value)[-6:] if str(value)[-6] in '+-' else None
    if field == 'media_type':
        return {'image/heif': 'image/heic'}.get(value, value)
    if field == 'orientation':
        return value if isinstance(value, int) and 1 <= value <= 8 else None
    return value if isinstance(value, int) else str(value).strip() or None


def found(row, field):
    if field == 'place':
        return None if row.get('latitude') is None else [row['latitude'], row['longitude']]
    return row.get(field)


def equal(one, other, tolerance):
    if one is None or other is None:
        return one is other
    if isinstance(one, list):
        return all(abs(a - b) <= tolerance for a, b in zip(one, other))
    if tolerance is not None:
        return abs(one - other) <= tolerance
    return str(one) == str(other)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('blob')
    parser.add_argument('--count', type=int, default=570)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--work')
    arguments = parser.parse_args()
    work = arguments.work or tempfile.mkdtemp(prefix='media-facts-')
    media, library = f'{work}/media', f'{work}/library'
    os.makedirs(media, exist_ok=True)
    if not os.listdir(media):
        originals = sorted({os.path.realpath(path) for place in PLACES for path in glob.glob(place, recursive=True)})
        if not originals:
            sys.exit('The packages named above are not installed.')
        for place, path in enumerate(originals):
            with open(path, 'rb') as source, open(f'{media}/o{place}{os.path.splitext(path)[1]}', 'wb') as copy:
                copy.write(source.read())
        variants(media, originals, arguments.count, arguments.seed)
    files = sorted(f'{media}/{name}' for name in os.listdir(media))
    # The second directory is of the thumbnail, whose values are not those of the picture.
    told = json.loads(run('exiftool', '-n', '-j', '--IFD1:all', '--XMP-exif:Make', '--XMP-exif:Model', *files))
    run('rm', '-rf', library)
    run(arguments.blob, 'library', 'create', library)
    run(arguments.blob, 'library', 'import', '--duplicates', '--library', library, *files)
    rows = [json.loads(line) for line in run(arguments.blob, 'library', 'ls', '--json', '--library', library).splitlines()]
    ours = {row['name']: row for row in rows}
    # Some samples end behind their Exif, which exiftool does not read then.
    refused = [row for row in told if 'format error' in str(row.get('Warning', ''))]
    told = [row for row in told if row not in refused]
    total = right = 0
    print(f'{len(files)} files, of which exiftool refuses {len(refused)}\n{"field":24}{"told":>6}{"equal":>7}{"of":>6}')
    for field, tags, tolerance in FIELDS:
        wrong, count, values = [], 0, 0
        for row in told:
            name = os.path.basename(row['SourceFile'])
            if name not in ours:
                continue
            count += 1
            want, have = expected(row, tags, field), found(ours[name], field)
            values += want is not None
            if not equal(want, have, tolerance):
                wrong.append((name, want, have))
        total, right = total + count, right + count - len(wrong)
        print(f'{field:24}{values:6}{count - len(wrong):7}{count:6}')
        for name, want, have in wrong[:5]:
            print(f'    {name}: exiftool {want!r}, blob {have!r}')
    share = right / max(total, 1)
    print(f'{right} of {total} are equal: {share:.2%}; {len(files) - len(ours)} files were not imported')
    sys.exit(0 if share >= 0.99 and len(ours) == len(files) else 1)


if __name__ == '__main__':
    main()
