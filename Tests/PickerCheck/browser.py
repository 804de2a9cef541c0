"""Chromium without a window, driven by its DevTools protocol (https://chromedevtools.github.io/devtools-protocol)."""
import base64, json, os, re, shutil, subprocess, tempfile, time

from websockets.sync.client import connect

LIMIT = 60  # Seconds after which a wait is a failure.

KEYS = {
    'Enter': 13, 'Escape': 27, ' ': 32, 'PageUp': 33, 'PageDown': 34, 'End': 35, 'Home': 36, 'ArrowLeft': 37,
    'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40, 'Tab': 9,
}


# Becomes true when the expression is, at the change of the page that makes it so, or false when the time is over.
WAIT = '''new Promise(resolve => {
    const value = () => { try { return %s; } catch { return false; } };
    const look = () => { const found = value(); if (found) end(found); };
    const observer = new MutationObserver(look);
    const end = result => { observer.disconnect(); removeEventListener('load', look, true); resolve(result); };
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    addEventListener('load', look, true);
    setTimeout(end, %d, false);
    look();
})'''


class Browser:
    """One page. `with Browser() as page: page.open(url)`."""

    def __init__(self):
        self.profile = tempfile.mkdtemp()
        program = shutil.which('chromium') or shutil.which('google-chrome') or 'chromium'
        self.process = subprocess.Popen(
            [program, '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-dev-shm-usage',
             '--disable-background-networking', '--disable-component-update', '--remote-debugging-port=0',
             f'--user-data-dir={self.profile}', 'about:blank'], stderr=subprocess.PIPE, text=True)
        port = next(
            match.group(1) for line in self.process.stderr
            if (match := re.search(r'DevTools listening on ws://127\.0\.0\.1:(\d+)/', line)))
        self.number, self.messages = 0, []
        self.socket = connect(
            re.search(r'ws://\S+', self._page(port)).group(0).rstrip('",'), max_size=None, origin=None)
        for domain in ['Page', 'Runtime', 'Log', 'Network', 'Accessibility']:
            self.call(f'{domain}.enable')

    def _page(self, port):
        import urllib.request
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/json/list') as answer:
            pages = json.load(answer)
        return next(page for page in pages if page['type'] == 'page')['webSocketDebuggerUrl']

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        """Calls a method and returns its result; keeps the events that come before."""
        self.number += 1
        self.socket.send(json.dumps({'id': self.number, 'method': method, 'params': parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=LIMIT))
            if message.get('id') == self.number:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]}')
                return message['result']
            self.messages.append(message)

    def open(self, url):
        self.call('Page.navigate', url=url)

    def reload(self):
        self.call('Page.reload')

    def value(self, expression):
        """The value of an expression of JavaScript; a promise is waited for."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{expression}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def wait(self, expression, limit=LIMIT):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + limit
        while (rest := end - time.monotonic()) > 0:
            try:
                if value := self.value(WAIT % (expression, rest * 1000)):
                    return value
            except RuntimeError:
                pass  # Another page is being loaded.
        raise RuntimeError(f'not within {limit} s: {expression}')

    def press(self, key, shift=False, count=1):
        for _ in range(count):
            for kind in ['keyDown', 'keyUp']:
                text = {'text': key} if key == ' ' and kind == 'keyDown' else {}
                self.call(
                    'Input.dispatchKeyEvent', type=kind, key=key, windowsVirtualKeyCode=KEYS[key],
                    code='Space' if key == ' ' else key, modifiers=8 if shift else 0, **text)

    def size(self, width, height, isDark=False, scale=1):
        self.call(
            'Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=scale,
            mobile=width < 600)
        self.call(
            'Emulation.setEmulatedMedia',
            features=[{'name': 'prefers-color-scheme', 'value': 'dark' if isDark else 'light'}])

    def picture(self, path):
        os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot')['data']))

    def tree(self):
        """The nodes of the accessibility tree that are not ignored: role, name, and states by their names."""
        nodes = self.call('Accessibility.getFullAXTree')['nodes']
        return [
            (node['role']['value'], node.get('name', {}).get('value', ''),
             {state['name']: state['value'].get('value') for state in node.get('properties', [])})
            for node in nodes if not node['ignored']]

    def complaints(self):
        """The errors that the page logged: exceptions, and refusals by the policy of content."""
        found = []
        for message in self.messages:
            if message['method'] == 'Runtime.exceptionThrown':
                found.append(message['params']['exceptionDetails'].get('text', '') + str(message['params']))
            entry = message.get('params', {}).get('entry', {})
            if message['method'] == 'Log.entryAdded' and entry.get('level') == 'error' and entry['source'] != 'network':
                found.append(entry['text'])
        return found
