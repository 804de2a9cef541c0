// The list of uploads. The server makes them: this page only shows them, as does any page opened later.

const element = id => document.getElementById(id);
const phases = { waiting: 'Waiting', done: 'Uploaded', failed: 'Failed' };

export async function request(path, options) {
  const answer = await fetch(path, options);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

export function make(tag, className = '', text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function makeEntry(item, again) {
  const entry = make('li');
  entry.dataset.id = item.id;
  const button = make('button');
  button.type = 'button';
  button.onclick = () => {
    if (entry.className === 'failed') again([item.id]);
    else request(`uploads?${encodeURIComponent(item.id)}`, { method: 'DELETE' }).catch(() => {});
  };
  const bar = make('progress');
  bar.setAttribute('aria-label', `Upload of ${item.name}`);
  entry.append(make('span', 'name', item.name), make('span', 'state'), button, bar, make('span', 'message'));
  entry.querySelector('.name').title = item.name;
  element('items').append(entry);
  return entry;
}

function update(entry, { name, phase, sent, byteCount, message }) {
  const isDone = phase === 'done', length = Math.max(1, byteCount);
  entry.className = phase;
  entry.querySelector('.state').textContent = phases[phase] ?? `${Math.floor(100 * sent / length)} %`;
  const bar = entry.querySelector('progress');
  [bar.max, bar.value] = [length, isDone ? length : sent];
  const prefix = phase === 'uploading' && message ? 'Trying again: ' : '';
  entry.querySelector('.message').textContent = prefix + (message ?? '');
  const button = entry.querySelector('button');
  button.hidden = isDone;
  button.textContent = phase === 'failed' ? 'Try again' : 'Cancel';
  button.setAttribute('aria-label', phase === 'failed' ? `Try uploading ${name} again` : `Cancel the upload of ${name}`);
}

// Returns true if the number of finished uploads has changed.
function show(list, again) {
  const entries = new Map([...element('items').children].map(entry => [entry.dataset.id, entry]));
  for (const item of list) {
    update(entries.get(item.id) ?? makeEntry(item, again), item);
    entries.delete(item.id);
  }
  for (const entry of entries.values()) entry.remove();
  element('uploads').hidden = list.length === 0;
  const count = phase => list.filter(item => item.phase === phase).length;
  const text = `${count('done')} of ${list.length} uploaded` + (count('failed') ? `, ${count('failed')} failed` : '');
  // Set only if it has changed, because it is read aloud.
  if (element('summary').textContent === text) return false;
  element('summary').textContent = text;
  return true;
}

const pause = time => new Promise(resume => setTimeout(resume, time));

// Shows the uploads until the page is closed. `again` retries some of them; `onChange` is called with all uploads when
// one has ended, and `onReturn` when the server answers again after a failure.
export async function follow({ again, onChange, onReturn }) {
  const offline = element('offline');
  for (let version = -1; ; ) {
    try {
      const answer = await (await request(`uploads?after=${version}`)).json();
      version = answer.version;
      if (show(answer.uploads, again)) onChange(answer.uploads);
      if (!offline.hidden) onReturn();
      offline.hidden = true;
      await pause(150);
    } catch {
      version = -1;
      offline.textContent = 'The picker is not responding. Start it again, and this page will continue.';
      offline.hidden = false;
      await pause(1000);
    }
  }
}

element('forget').onclick = () => request('uploads', { method: 'DELETE' }).catch(() => {});
