#!/usr/bin/env python3
"""Opens the listings of `blob serve` in Chromium, and seeks in a video that is a member of a tar.

usage: browser.py BLOB [--pictures FOLDER]   with the Python of a venv that has `websockets` and `pillow`

The listings, one of them with odd names and one with two pages, are opened at the width of a phone and of a desktop, in
both colour schemes. The video's frames show their second in binary, as black and white squares. Prints a line for each
check; the exit status is 1 if one failed. The pictures of the pages are for people to look at.
"""
import argparse, io, json, os, re, shutil, subprocess, sys, tarfile, tempfile, urllib.parse, urllib.request

from PIL import Image, ImageDraw

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../PickerCheck'))
from browser import LIMIT, Browser

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--pictures', help='folder for the pictures (default: no pictures are kept)')
options = parser.parse_args()

MANY, PAGE = 1500, 1000  # Files in the folder with two pages, and entries on a page.
SECONDS, SECOND, BITS, SQUARE = 120, 45, 7, 40  # The video's length; the wanted second; its squares and their pixels.
CONTRAST, TARGET, PHONE = 4.5, 24, 360  # The limits: a ratio, and CSS pixels.
LOOKS = {
    'desktop': (1280, 800, False), 'desktop-dark': (1280, 800, True), 'phone': (PHONE, 740, False),
    'phone-dark': (PHONE, 740, True),
}
ODD_NAMES = [
    'שלום עולם 3.txt', 'مرحبا (1).pdf', 'photo\u202egpj.exe', '🎉👩‍👩‍👧 party.txt', '"double" and \'single\'.txt',
    '<script>document.title=1', '<img src=x onerror=document.title=1>.png', '</a></td></table>'.replace('/', '\\'),
    '&amp;&lt;.txt', '100% %41 %2F.txt', 'a?b#c&d=e+f.txt', 'javascript:document.title=1', 'http:', '  spaces  ', '...',
    'new\nline.txt', 'back\\slash.txt', 'nai\u0308ve.txt', '-dash', '日本語の名前.txt', 'x' * 251 + '.txt',
    'a name of many words ' * 11 + '.txt',
]
failures = []


def check(condition, text):
    print(f'{"ok" if condition else "FAILED"}: {text}', flush=True)
    if not condition:
        failures.append(text)


def picture(page, name):
    if options.pictures:
        page.picture(f'{options.pictures}/{name}.png')


def make_picture(number):
    """Returns a PNG of 320 times 240 pixels."""
    image = Image.new('RGB', (320, 240), (40 * number % 256, 90, 160))
    ImageDraw.Draw(image).ellipse((60, 20, 260, 220), fill=(250, 200 - 20 * number, 60))
    file = io.BytesIO()
    image.save(file, 'PNG')
    return file.getvalue()


def make_video(path):
    """Makes a video with much noise, so that a browser cannot keep all of it ahead of the playback."""
    squares = ','.join(
        f"drawbox=x={bit * SQUARE}:y=0:w={SQUARE}:h={SQUARE}:color=white:t=fill:enable='mod(floor(t/{1 << bit}),2)'"
        for bit in range(BITS))
    subprocess.run(
        ['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', f'testsrc2=size=640x360:rate=12:duration={SECONDS}', '-vf',
         f'noise=alls=60:allf=t,drawbox=x=0:y=0:w={BITS * SQUARE}:h={SQUARE}:color=black:t=fill,{squares}', '-c:v',
         'libvpx', '-b:v', '12M', '-deadline', 'realtime', '-cpu-used', '8', '-g', '24', path], check=True)


def make_folder(folder):
    """Makes the served folder; returns the names in each listing, by its path."""
    shelf = os.path.join(folder, 'shelf')
    contents = {f'odd names/{name}': name.encode() for name in ODD_NAMES}
    contents |= {f'many/{number:04}.txt': b'%d' % number for number in range(MANY)}
    contents |= {f'pictures/{number}.png': make_picture(number) for number in range(6)}
    for path, content in contents.items():
        os.makedirs(os.path.dirname(os.path.join(shelf, path)), exist_ok=True)
        with open(os.path.join(shelf, path), 'wb') as file:
            file.write(content)
    os.mkdir(os.path.join(shelf, 'empty'))
    with open(os.path.join(folder, 'page.html'), 'w') as file:
        file.write('<title>before</title><script>document.title = "after"</script>')
    make_video(os.path.join(folder, 'video.webm'))
    with tarfile.open(os.path.join(shelf, 'film.tar'), 'w') as tar:
        tar.add(os.path.join(folder, 'video.webm'), 'video.webm')
        tar.add(os.path.join(shelf, 'pictures'), 'pictures')
        for name in ODD_NAMES[:6]:
            tar.add(os.path.join(shelf, 'odd names', name), name)
    return {
        '': ['film.tar', 'page.html', 'shelf'], 'shelf/': ['empty', 'film.tar', 'many', 'odd names', 'pictures'],
        'shelf/odd%20names/': ODD_NAMES, 'shelf/pictures/': [f'{number}.png' for number in range(6)],
        'shelf/film.tar/': ['pictures', 'video.webm', *ODD_NAMES[:6]],
        'shelf/film.tar/pictures/': [f'{number}.png' for number in range(6)], 'shelf/empty/': [],
    }


# Each element with text of its own that is shown: the text's start, its colour and the colours behind it, from the
# element to the root and the canvas, as red, green, blue and alpha. Opacity belongs to the colours.
COLOURS = '''(() => {
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const known = new Map();
    const parts = colour => {
        if (!known.has(colour)) {
            context.clearRect(0, 0, 1, 1);
            context.fillStyle = colour;
            context.fillRect(0, 0, 1, 1);
            known.set(colour, [...context.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(colour);
    };
    const probe = document.body.appendChild(document.createElement('div'));
    probe.style.backgroundColor = 'Canvas';
    const canvas = parts(getComputedStyle(probe).backgroundColor);
    probe.remove();
    const found = new Map();
    for (const element of document.querySelectorAll('body, body *')) {
        const text = [...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data).join('').trim();
        const box = element.getBoundingClientRect();
        if (!text || box.width <= 1 || box.height <= 1) continue;
        const style = getComputedStyle(element), back = [];
        let opacity = 1;
        for (let each = element; each; each = each.parentElement) {
            back.push(parts(getComputedStyle(each).backgroundColor));
            opacity *= getComputedStyle(each).opacity;
        }
        const [red, green, blue, alpha] = parts(style.color);
        const key = JSON.stringify([[red, green, blue, alpha * opacity], [...back, canvas]]);
        if (!found.has(key)) found.set(key, `${element.localName} "${text.slice(0, 20)}"`);
    }
    return [...found].map(([colours, text]) => [text, ...JSON.parse(colours)]);
})()'''


def mixed(colour, back):
    alpha = colour[3] / 255
    return [part * alpha + other * (1 - alpha) for part, other in zip(colour[:3], back[:3])]


def luminance(colour):
    """The relative luminance of WCAG 2.2."""
    parts = [part / 255 for part in colour[:3]]
    red, green, blue = [part / 12.92 if part <= .04045 else ((part + .055) / 1.055) ** 2.4 for part in parts]
    return .2126 * red + .7152 * green + .0722 * blue


def contrasts(page):
    """Returns the contrast of each text, with its start, and the luminance of the last background."""
    found, behind = [], 0
    for text, colour, backs in page.value(COLOURS):
        back = backs[-1]
        for each in reversed(backs[:-1]):
            back = mixed(each, back)
        light, dark = sorted([luminance(mixed(colour, back)), luminance(back)], reverse=True)
        found.append(((light + .05) / (dark + .05), text))
        behind = luminance(back)
    return found, behind


def check_look(page, name, look):
    """Checks the listing that is open at the size and in the colour scheme of a look, and takes its picture."""
    width, height, is_dark = LOOKS[look]
    page.size(width, height, is_dark)
    picture(page, f'{name}-{look}')
    found, back = contrasts(page)
    worst = min(found)
    check(worst[0] >= CONTRAST, f'{name}, {look}: the contrast of text is at least {worst[0]:.1f} ({worst[1]})')
    check(back < 0.2 if is_dark else back > 0.8, f'{name}, {look}: the background has a luminance of {back:.2f}')
    if width == PHONE:
        shown, full, right = page.value('''[innerWidth, document.documentElement.scrollWidth,
            Math.max(...[...document.querySelectorAll('body *')].map(each => each.getBoundingClientRect().right))]''')
        check(shown == PHONE and full <= PHONE and right <= PHONE,
              f'{name}, {look}: {full} pixels wide of {shown}, elements up to {right:.0f}')
        low = page.value('''[...document.querySelectorAll('a, button, input, summary')].flatMap(
            each => [...each.getClientRects()].map(box => [box.height, each.textContent.trim().slice(0, 30)]))''')
        lowest = min(low, default=(TARGET, ''))
        check(lowest[0] >= TARGET,
              f'{name}, {look}: the targets are at least {lowest[0]:.1f} pixels high ({lowest[1]})')
        check_tree(page, f'{name}, {look}')


def check_tree(page, name):
    """Checks the roles of the accessibility tree: a table whose columns have names, or a list."""
    tree = page.tree()
    roles = [role for role, _, _ in tree]
    headers = [text for role, text, _ in tree if role == 'columnheader']
    links = [text for role, text, _ in tree if role == 'link']
    is_table = 'table' in roles and headers and all(headers)
    check(is_table or 'list' in roles and 'listitem' in roles,
          f'{name}: a {"table" if "table" in roles else "list"} with the columns {headers}, {len(links)} links')
    check(all(links), f'{name}: each link has a name')
    check('heading' in roles, f'{name}: there is a heading')


def open_page(page, url):
    page.open(url)
    page.wait('location.href !== "about:blank" && document.readyState === "complete"')
    check(page.value('location.href') == url, f'{urllib.parse.unquote(url.split("/", 4)[4]) or "the root"} is open')


def check_structure(page, name):
    lang, title, scripts, handlers = page.value('''[document.documentElement.lang, document.title,
        document.querySelectorAll('script').length, [...document.querySelectorAll('*')].flatMap(
        each => [...each.attributes].map(attribute => attribute.name)).filter(name => name.startsWith('on')).length]''')
    check(lang and title.strip(), f'{name}: the language is {lang!r}, the title {title!r}')
    check(scripts == 0 and handlers == 0, f'{name}: {scripts} scripts, {handlers} event handlers')


def entries(page, url):
    """Returns the links to entries of the listing at a URL by the entries' names, each with its text.

    An archive has two links: to its bytes, and to its members.
    """
    links = page.value('[...document.querySelectorAll("a")].map(link => [link.href, link.textContent])')
    base, found = url.partition('?')[0], {}
    for link, text in links:
        if re.fullmatch('[^/?#]+/?', rest := link.removeprefix(base)):
            found.setdefault(urllib.parse.unquote(rest.rstrip('/')), []).append((link, text))
    return found


def check_entries(page, url, name, wanted):
    found = entries(page, url)
    names = list(found)
    check(sorted(names) == sorted(wanted), f'{name}: {len(names)} entries'
          + (f', missing {sorted(set(wanted) - set(names))}, added {sorted(set(names) - set(wanted))}'
             if sorted(names) != sorted(wanted) else ''))
    # Characters that are not printed, and spaces at the ends, may be shown in another way.
    others = [text for text, links in found.items() if text.isprintable() and text.strip() not in links[0][1]]
    check(not others, f'{name}: each entry has a link with its name {others or ""}')
    spoken = page.value('[...document.querySelectorAll("td a, li a")].map(link => link.ariaLabel ?? link.textContent)')
    check(len(set(spoken)) == len(spoken), f'{name}: the names of {len(spoken)} links differ')
    return found


def check_keyboard(page, name):
    """Presses Tab as often as there are links, and compares the order of the focus with the order of the links."""
    links = page.value('''(() => {
        window.trail = [];
        addEventListener('focusin', event => trail.push(event.target.href), true);
        return [...document.querySelectorAll('a')].map(link => link.href);
    })()''')
    page.press('Tab', count=len(links))
    trail = page.value('trail')
    check(trail == links, f'{name}: Tab leads to each of {len(links)} links in turn')
    if links:
        picture(page, f'{name}-focus')
        check(page.value('''(() => {
            const style = getComputedStyle(document.activeElement);
            return style.outlineStyle !== 'none' && style.outlineWidth !== '0px' || style.boxShadow !== 'none';
        })()'''), f'{name}: the link with the focus has an outline')
        page.value('[document.activeElement.blur(), scrollTo(0, 0)]')


def check_listing(page, url, name, wanted):
    page.size(*LOOKS['desktop'])
    open_page(page, url)
    check_structure(page, name)
    found = check_entries(page, url, name, wanted)
    check_tree(page, name)
    check_keyboard(page, name)
    for look in LOOKS:
        check_look(page, name, look)
    return found


def check_listings(page, root, listings):
    for path, wanted in listings.items():
        name = urllib.parse.unquote(path).strip('/').replace('/', '-').replace(' ', '-') or 'root'
        found = check_listing(page, root + path, name, wanted)
        if wanted is ODD_NAMES:
            wrong = []
            for text, links in found.items():
                with urllib.request.urlopen(links[0][0]) as response:
                    if response.read() != text.encode():
                        wrong.append(text)
            check(not wrong, f'{name}: each of {len(found)} links leads to the bytes of its file {wrong or ""}')
    names = [f'{number:04}.txt' for number in range(MANY)]
    check_listing(page, f'{root}shelf/many/', 'many-1', names[:PAGE])
    following = page.value('''[...document.querySelectorAll('a')].map(link => link.href).find(
        link => link.endsWith('page=2')) ?? null''')
    check(following, 'many-1: there is a link to the second page')
    if following:
        check_listing(page, following, 'many-2', names[PAGE:])
        check(page.value(f'''[...document.querySelectorAll('a')].some(link =>
            link.href === {f"{root}shelf/many/"!r} || link.href.endsWith('page=1'))'''),
              'many-2: there is a link to the first page')


def check_picture(page, root):
    open_page(page, f'{root}shelf/film.tar/pictures/1.png')
    check(page.value('document.images[0]?.naturalWidth') == 320, 'a picture in a tar is shown')


def check_sandbox(page, url):
    """Opens a file with a script, which must not run: it could read all that the token in its URL gives access to."""
    page.call('Page.setLifecycleEventsEnabled', enabled=True)
    loader = page.call('Page.navigate', url=url)['loaderId']

    def is_loaded(message):
        event = message['params']
        return message['method'] == 'Page.lifecycleEvent' and (event['name'], event['loaderId']) == ('load', loader)

    # No promise is resolved in a page whose scripts are blocked, so the events are read here.
    while not any(map(is_loaded, page.messages)):
        page.messages.append(json.loads(page.socket.recv(timeout=LIMIT)))
    history = page.call('Page.getNavigationHistory')
    title = history['entries'][history['currentIndex']]['title']
    check(title == 'before', f'the script of an HTML file does not run: its title is {title!r}')


# Seeks in the video that the browser shows at its URL, and returns the lightness of the middle of each square.
SEEK = f'''new Promise((resolve, reject) => {{
    const video = document.querySelector('video');
    const seek = () => {{
        video.pause();
        video.addEventListener('seeked', () => {{
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
            const context = canvas.getContext('2d');
            context.drawImage(video, 0, 0);
            resolve([...Array({BITS}).keys()].map(bit =>
                context.getImageData(bit * {SQUARE} + {SQUARE // 2}, {SQUARE // 2}, 1, 1).data[1]));
        }});
        video.currentTime = {SECOND};
    }};
    video.addEventListener('error', () => reject(new Error(video.error.message)));
    if (video.readyState > 0) seek(); else video.addEventListener('loadedmetadata', seek);
}})'''


def check_video(page, url, byte_count):
    page.size(*LOOKS['desktop'])
    start = len(page.messages)
    open_page(page, url)
    lights = page.value(SEEK)
    second = sum((light > 127) << bit for bit, light in enumerate(lights))
    check(second == SECOND and all(light < 60 or light > 195 for light in lights),
          f'the frame at {SECOND} s is that of second {second} (squares {lights})')
    picture(page, 'video')
    events = [(message['method'], message['params']) for message in page.messages[start:]]
    responses = [
        (event['response']['status'], event['requestId']) for method, event in events
        if method == 'Network.responseReceived' and event['type'] == 'Media']
    check(responses and all(status == 206 for status, _ in responses),
          f'the player made {len(responses)} requests, with the statuses {sorted({status for status, _ in responses})}')
    received = sum(event['dataLength'] for method, event in events if method == 'Network.dataReceived')
    check(0 < received < byte_count / 3, f'{received / 1e6:.1f} of {byte_count / 1e6:.1f} MB were transferred')
    page.open('about:blank')


def complaints(page):
    """Returns the errors that the pages logged, and the failed requests, except for the icon that no page names."""
    failed = [
        f'{message["params"]["response"]["status"]} {message["params"]["response"]["url"]}' for message in page.messages
        if message['method'] == 'Network.responseReceived' and message['params']['response']['status'] >= 400]
    logged = [
        str(message['params']['args']) for message in page.messages
        if message['method'] == 'Runtime.consoleAPICalled' and message['params']['type'] in ('error', 'assert')]
    return page.complaints() + logged + [line for line in failed if not line.endswith('/favicon.ico')]


def main(folder):
    listings = make_folder(folder)
    shelf = os.path.join(folder, 'shelf')
    locators = [shelf, os.path.join(shelf, 'film.tar'), os.path.join(folder, 'page.html')]
    server = subprocess.Popen(
        [os.path.abspath(options.blob), 'serve', *locators], stdout=subprocess.PIPE, text=True,
        env=os.environ | {'XDG_CACHE_HOME': os.path.join(folder, 'cache')})
    try:
        root = server.stdout.readline().strip()
        with Browser() as page:
            check_listings(page, root, listings)
            check_picture(page, root)
            check_video(page, f'{root}shelf/film.tar/video.webm', os.path.getsize(os.path.join(folder, 'video.webm')))
            found = complaints(page)
            check(not found, f'nothing was logged as an error {found or ""}')
            check_sandbox(page, f'{root}page.html')
    finally:
        server.terminate()
        server.wait()


for program in ('ffmpeg', 'chromium'):
    if not shutil.which(program):
        sys.exit(f'This needs {program}.')
with tempfile.TemporaryDirectory() as folder:
    main(folder)
print(f'{len(failures)} checks failed.' if failures else 'All checks passed.')
sys.exit(bool(failures))
