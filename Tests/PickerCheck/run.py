#!/usr/bin/env python3
"""Chooses 20 of 2,000 assets in Chromium, by the keyboard alone, and uploads them while everything is killed once.

usage: run.py FOLDER [--pictures F] [--seed N]

FOLDER has the programs blob, blob-receive and AssetPicker. In the middle of the uploads, the receiver is killed and
started again on its port, the page is reloaded, and the picker is killed and started again. Then the digests of all 20
are compared. Before that, the accessibility tree, scrolling, a range that exceeds the limit, and the colours are checked.
Pictures of the page in both colours and two sizes are for people to look at.
"""
import argparse, hashlib, io, os, random, re, shutil, signal, subprocess, sys, tempfile

from PIL import Image

from browser import Browser

parser = argparse.ArgumentParser()
parser.add_argument('programs')
parser.add_argument('--pictures', help='the folder of the pictures (default: they are not kept)')
parser.add_argument('--seed', type=int, default=18, help='of the photos')
options = parser.parse_args()
random.seed(options.seed)

COUNT, LIMIT, LARGE = 2000, 20, 12_000_000
RATE = 700_000  # Bytes a second of each upload: the large ones take 17 seconds, of which a slow browser needs some.
folder = tempfile.mkdtemp()
library, store, state = f'{folder}/library', f'{folder}/store', f'{folder}/state'
environment = os.environ | {'XDG_CACHE_HOME': f'{folder}/cache'}


def program(name):
    return os.path.join(os.path.abspath(options.programs), name)


def blob(*arguments):
    return subprocess.run(
        [program('blob'), *arguments], check=True, capture_output=True, text=True, env=environment).stdout


def check(condition, text):
    if not condition:
        sys.exit(f'FAILED: {text}')
    print(f'ok: {text}', flush=True)


class Server:
    """A program that prints its URL first."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [program(self.arguments[0]), *self.arguments[1:]], stdout=subprocess.PIPE, text=True, env=environment)
        self.url = self.process.stdout.readline().strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def photo(number):
    """A picture of its own colours; each four-hundredth has many bytes behind its end, as if it were large."""
    size = random.choice([(400, 300), (300, 400), (320, 320)])
    colours = [tuple(random.randrange(256) for _ in range(3)) for _ in range(4)]
    picture = Image.new('RGB', (2, 2))
    picture.putdata(colours)
    file = io.BytesIO()
    picture.resize(size, Image.Resampling.BICUBIC).save(file, 'JPEG')
    return file.getvalue() + (random.randbytes(LARGE) if number % 400 == 3 else b'')


def make_library():
    os.makedirs(f'{folder}/photos')
    for number in range(COUNT):
        with open(f'{folder}/photos/IMG_{number:04}.jpg', 'wb') as file:
            file.write(photo(number))
    blob('library', 'create', '--library', library)
    names = [f'{folder}/photos/IMG_{number:04}.jpg' for number in range(COUNT)]
    blob('library', 'import', '--library', library, *names)


def contrast(first, second):
    """The ratio of two colours `rgb(…)` (WCAG 2.2, relative luminance)."""
    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r'\d+', colour)[:3]]
        red, green, blue = [part / 12.92 if part <= .04045 else ((part + .055) / 1.055) ** 2.4 for part in parts]
        return .2126 * red + .7152 * green + .0722 * blue
    light, dark = sorted([luminance(first), luminance(second)], reverse=True)
    return (light + .05) / (dark + .05)


def check_contrast(page, name):
    colours = page.value('''[...document.querySelectorAll('h1, #status, #upload, #none, .name, .state, #summary')].map(element => {
        let back = element;
        while (/, 0\\)$|^transparent$/.test(getComputedStyle(back).backgroundColor) && back.parentElement) back = back.parentElement;
        return [getComputedStyle(element).color, getComputedStyle(back).backgroundColor, element.id || element.className];
    })''')
    worst = min((contrast(*colour[:2]), colour[2]) for colour in colours)
    check(worst[0] >= 4.5, f'{name}: the contrast of texts is at least {worst[0]:.1f} ({worst[1] or "h1"})')


def picture(page, name):
    if options.pictures:
        page.picture(f'{options.pictures}/{name}.png')


def options_of(page):
    return [(name, states) for role, name, states in page.tree() if role == 'option']


def phases(page):
    return page.value('''[...document.querySelectorAll('#items li')].map(entry => entry.className)''')


def sent(page):
    """The sum of what the bars show, in bytes."""
    return page.value('''[...document.querySelectorAll('#items progress')].reduce((sum, bar) => sum + bar.value, 0)''')


def wait_for_growth(page, byte_count):
    start = sent(page)
    page.wait(f'''[...document.querySelectorAll('#items progress')].reduce((sum, bar) => sum + bar.value, 0) > {start + byte_count}''')


def focused(page):
    return int(page.value('document.activeElement.index'))


def choose(page):
    """Chooses 20, five in each of four places, of which one is large; returns their numbers."""
    page.press('Tab')
    check(focused(page) == 0, 'Tab leads to the first asset')
    page.press('End')
    check(focused(page) == COUNT - 1, 'End leads to the last asset')
    page.press('Home')
    page.press('ArrowDown')
    columns = focused(page)
    check(columns > 2, f'ArrowDown leads to the next row, of {columns}')
    page.press('ArrowUp')
    for count, start in enumerate([3, 403, 803, 1203], 1):
        page.press('ArrowDown', count=(start - focused(page)) // columns)
        page.press('ArrowRight', count=start - focused(page))
        page.press(' ')
        page.press('ArrowRight', shift=True, count=5)
        page.press('ArrowLeft', shift=True)
        page.wait(f'document.getElementById("upload").textContent === "Upload {5 * count}"')
    page.press('ArrowRight', count=2)
    page.press(' ')
    page.wait('document.getElementById("status").textContent.includes("No more than 20")')
    check(page.value('document.getElementById("upload").textContent') == 'Upload 20', '20 are chosen, and no more')
    return [number for start in [3, 403, 803, 1203] for number in range(start, start + 5)]


def check_tree(page):
    options = options_of(page)
    check(options and all(re.match(r'IMG_\d{4}\.jpg, .*\d', name) for name, _ in options),
          f'each of {len(options)} options has a name with a date')
    check(all('selected' in states for _, states in options), 'each option has a state')
    check(sum(states['selected'] for _, states in options) > 0, 'the chosen ones are selected')
    roles = [role for role, _, _ in page.tree()]
    check('listbox' in roles and 'status' in roles and 'banner' in roles, 'there are a list, a status and a banner')
    check(all(name for role, name, _ in page.tree() if role in ('button', 'listbox')), 'each control has a name')


def check_scrolling(page):
    """Scrolls through the whole list in as many frames as a screen shows in three seconds.

    Measured is the time of a processor that the page's thread needs for a frame: frames take longer where others use all
    processors.
    """
    page.call('Performance.enable')

    def work():
        metrics = page.call('Performance.getMetrics')['metrics']
        return next(metric['value'] for metric in metrics if metric['name'] == 'ThreadTime') * 1000

    before = work()
    time, tiles = page.value('''new Promise(resume => {
        const view = document.querySelector('main'), end = view.scrollHeight - view.clientHeight;
        let frame = 0, most = 0;
        const begin = performance.now();
        const step = now => {
            frame += 1;
            most = Math.max(most, document.querySelectorAll('.tile').length);
            view.scrollTop = end * frame / 180;
            if (frame < 180) requestAnimationFrame(step); else resume([(now - begin) / 1000, most]);
        };
        requestAnimationFrame(step);
    })''')
    each = (work() - before) / 180
    check(each < 16 and tiles < 300,
          f'scrolling {COUNT} assets in 180 frames: {each:.1f} ms of work each, {time:.1f} s; {tiles} tiles at most')


def main():
    make_library()
    receiver = Server('blob-receive', '--directory', store, '--listen', '127.0.0.1:0')
    picker = Server(
        'AssetPicker', library, receiver.url, state, '--limit', str(LIMIT), '--limit-rate', str(RATE))
    receiver.arguments = receiver.arguments[:-1] + (receiver.url.split('/')[2],)
    try:
        with Browser() as page:
            flow(page, receiver, picker)
    finally:
        receiver.kill()
        picker.kill()
        shutil.rmtree(folder)


def flow(page, receiver, picker):
    page.size(1280, 800)
    page.open(picker.url)
    page.wait('document.querySelectorAll(".tile img.loaded").length > 40')
    picture(page, 'begin')
    check_scrolling(page)
    page.reload()
    page.wait('document.querySelectorAll(".tile img.loaded").length > 40')
    wanted = choose(page)
    picture(page, 'chosen')
    check_tree(page)
    check_contrast(page, 'light')
    page.reload()
    page.wait('document.getElementById("upload").textContent === "Upload 20"')
    check(True, 'the choice is there after a reload')
    page.press('Tab', count=3)  # The two buttons, then the list.
    check(page.value('document.activeElement.getAttribute("role")') == 'option', 'Tab leads to the list')
    page.press('Enter')
    page.wait('document.querySelectorAll("#items li").length === 20')
    wait_for_growth(page, 3_000_000)
    picture(page, 'uploading')
    size = sum(os.path.getsize(f'{store}/{name}') for name in os.listdir(store))
    receiver.kill()
    page.wait('[...document.querySelectorAll(".message")].some(message => message.textContent.startsWith("Trying again"))')
    picture(page, 'receiver-lost')
    receiver.start()
    wait_for_growth(page, 3_000_000)
    check(size > 0, f'the receiver was killed with {size} bytes, and the uploads went on')
    page.reload()
    page.wait('document.querySelectorAll("#items li").length === 20')
    check('uploading' in phases(page), 'the uploads are there after a reload, and go on')
    wait_for_growth(page, 1_000_000)
    before, url = phases(page).count('done'), picker.url
    picker.kill()
    page.wait('!document.getElementById("offline").hidden')
    picture(page, 'picker-lost')
    picker.start()
    check(picker.url == url, 'the picker has the same URL again')
    page.wait('document.getElementById("offline").hidden')
    check(phases(page).count('done') >= before and 'uploading' in phases(page), 'the page goes on without a reload')
    page.size(1280, 800, isDark=True)
    picture(page, 'dark')
    check_contrast(page, 'dark')
    page.size(390, 844, scale=2)
    page.wait('document.querySelectorAll(".tile img.loaded").length > 5')
    picture(page, 'phone')
    page.wait('[...document.querySelectorAll("#items li")].every(entry => entry.className === "done")', 120)
    check(page.value('document.getElementById("summary").textContent') == '20 of 20 uploaded', 'all are uploaded')
    bars = [name for role, name, _ in page.tree() if 'rogress' in role]
    check(len(bars) == LIMIT and all(name.startswith('Upload of IMG_') for name in bars), 'each bar has a name')
    picture(page, 'done')
    compare(wanted)
    check(not page.complaints(), f'nothing was logged as an error {page.complaints()}')


def compare(wanted):
    def digests(paths):
        return sorted(hashlib.sha256(open(path, 'rb').read()).hexdigest() for path in paths)
    found = digests(f'{store}/{name}' for name in os.listdir(store) if not name.startswith('.'))
    check(found == digests(f'{folder}/photos/IMG_{number:04}.jpg' for number in wanted),
          f'the digests of all {len(found)} files are those of the chosen photos')


main()
