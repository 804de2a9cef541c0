import { follow, make, request } from './uploads.js';

// The size of a tile and the gap between tiles, in pixels, and the rows created beyond the visible ones.
const smallestTile = 128, gap = 6, overscan = 3;
// The time a tile must stay before its picture is loaded, in milliseconds.
const restingTime = 60;
// The maximum number of assets that the server sends at once.
const pageCount = 500;

const element = id => document.getElementById(id);
const [grid, status, upload, none] = ['grid', 'status', 'upload', 'none'].map(element);
const viewport = grid.parentElement;
const assets = [];          // By index; holes are not loaded yet.
const pages = new Map();    // The requests of pages, by number.
const tiles = new Map();    // The elements that are in the document, by index.
const chosen = new Map();   // Indices by identifier, in the order of choice.
let uploaded = new Set();   // The identifiers of assets that the server has.
let total = 0, limit = 0, columns = 1, side = smallestTile;
let active = 0;                             // The tile that has the focus, or gets it by Tab.
let anchor = 0, beforeRange = new Map();    // Where a range begins, and what was chosen before it.

// MARK: The library

function load(index) {
  const page = Math.floor(index / pageCount);
  if (!pages.has(page)) {
    pages.set(page, request(`assets?from=${page * pageCount}`).then(answer => answer.json()).then(list => {
      ({ total, limit } = list);
      list.assets.forEach((asset, offset) => { assets[page * pageCount + offset] = asset; });
      for (const [index, tile] of tiles) if (Math.floor(index / pageCount) === page) fill(tile, index);
    }).catch(error => {
      pages.delete(page);
      throw error;
    }));
  }
  return pages.get(page);
}

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
function dateText(text) {
  const date = new Date(text);
  return isNaN(date) ? '' : dates.format(date);
}

function fill(tile, index) {
  const asset = assets[index];
  tile.replaceChildren();
  if (!asset) return;
  const image = new Image();
  image.alt = '';
  image.decoding = 'async';
  image.onload = () => image.classList.add('loaded');
  image.onerror = () => {
    const kind = make('span', 'kind');
    kind.append(make('b', '', (asset.mediaType ?? 'file').replace(/.*\//, '').toUpperCase()), asset.name);
    image.replaceWith(kind);
  };
  // Not for a tile that is only scrolled past.
  setTimeout(() => { if (image.isConnected) image.src = `thumbnails?${encodeURIComponent(asset.id)}`; }, restingTime);
  tile.append(image, make('span', 'mark', '✓'));
  describe(tile, asset);
}

// The name, the state and the marks of a tile.
function describe(tile, asset) {
  const sent = uploaded.has(asset.id);
  tile.querySelector('.sent')?.remove();
  if (sent) tile.append(make('span', 'sent', 'Uploaded'));
  tile.setAttribute('aria-selected', chosen.has(asset.id));
  const kind = asset.mediaType?.startsWith('video/') ? 'film' : '';
  tile.setAttribute('aria-label', [asset.name, dateText(asset.date), kind, sent ? 'uploaded' : ''].filter(Boolean).join(', '));
}

function redescribe() {
  for (const [index, tile] of tiles) if (assets[index]) describe(tile, assets[index]);
}

// MARK: The window of the grid

function layOut() {
  const width = grid.clientWidth;
  const first = Math.floor(viewport.scrollTop / (side + gap)) * columns;
  columns = Math.max(3, Math.floor((width + gap) / (smallestTile + gap)));
  side = (width - gap * (columns - 1)) / columns;
  grid.style.height = `${Math.ceil(total / columns) * (side + gap)}px`;
  for (const [index, tile] of tiles) place(tile, index);
  viewport.scrollTop = Math.floor(first / columns) * (side + gap);
  render();
}

function place(tile, index) {
  const [x, y] = [index % columns, Math.floor(index / columns)].map(number => number * (side + gap));
  tile.style.transform = `translate(${x}px, ${y}px)`;
  tile.style.width = tile.style.height = `${side}px`;
}

function render() {
  const rows = [viewport.scrollTop, viewport.scrollTop + viewport.clientHeight].map(y => Math.max(0, Math.floor(y / (side + gap))));
  const from = Math.max(0, rows[0] - overscan) * columns, to = Math.min(total, (rows[1] + 1 + overscan) * columns);
  for (const [index, tile] of tiles) {
    if ((index >= from && index < to) || index === active) continue;
    // Otherwise a picture that is no longer visible would still be loaded, before the visible ones.
    tile.querySelector('img')?.removeAttribute('src');
    tile.remove();
    tiles.delete(index);
  }
  // The visible ones first: pictures are loaded in the order in which they are created.
  for (let index = rows[0] * columns; index < to; index++) if (!tiles.has(index)) show(index);
  for (let index = from; index < rows[0] * columns; index++) if (!tiles.has(index)) show(index);
}

function show(index) {
  const tile = make('div', 'tile');
  tile.setAttribute('role', 'option');
  tile.setAttribute('aria-posinset', index + 1);
  tile.setAttribute('aria-setsize', total);
  tile.tabIndex = index === active ? 0 : -1;
  tile.index = index;
  place(tile, index);
  tiles.set(index, tile);
  // In list order, for screen readers.
  grid.insertBefore(tile, [...grid.children].find(other => other.index > index) ?? null);
  if (assets[index]) fill(tile, index); else load(index).catch(() => {});
  return tile;
}

function moveTo(index) {
  index = Math.max(0, Math.min(total - 1, index));
  const old = tiles.get(active);
  if (old) old.tabIndex = -1;
  active = index;
  const tile = tiles.get(index) ?? show(index);
  tile.tabIndex = 0;
  tile.focus({ preventScroll: true });
  const top = Math.floor(index / columns) * (side + gap);
  if (top < viewport.scrollTop) viewport.scrollTop = top;
  const bottom = top + side + 2 * gap + 10 - viewport.clientHeight;
  if (bottom > viewport.scrollTop) viewport.scrollTop = bottom;
}

// MARK: The choice

function chosenHasChanged(message) {
  redescribe();
  sessionStorage.setItem('chosen', JSON.stringify([...chosen]));
  const count = chosen.size;
  // A disabled button loses the focus.
  if (!count && [upload, none].includes(document.activeElement)) tiles.get(active)?.focus();
  upload.disabled = none.disabled = count === 0;
  upload.textContent = count ? `Upload ${count}` : 'Upload';
  status.textContent = message ?? (count ? `${count} of at most ${limit} chosen` : `${total.toLocaleString()} items, choose up to ${limit}`);
}

function toggle(index) {
  const id = assets[index]?.id;
  if (!id) return;
  let message;
  if (chosen.has(id)) chosen.delete(id);
  else if (chosen.size < limit) chosen.set(id, index);
  else message = `No more than ${limit} can be chosen`;
  [anchor, beforeRange] = [index, new Map(chosen)];
  chosenHasChanged(message);
}

// Chooses all assets from the anchor to an index, in addition to the earlier choice.
async function chooseRange(index) {
  const [from, to] = [Math.min(anchor, index), Math.max(anchor, index)];
  const wanted = [];
  for (let page = Math.floor(from / pageCount); page <= Math.floor(to / pageCount); page++) wanted.push(load(page * pageCount));
  await Promise.all(wanted);
  if (index !== active) return;
  chosen.clear();
  for (const [id, index] of beforeRange) chosen.set(id, index);
  let message;
  for (let at = anchor; ; at += index < anchor ? -1 : 1) {
    if (chosen.size >= limit && !chosen.has(assets[at].id)) { message = `No more than ${limit} can be chosen`; break; }
    chosen.set(assets[at].id, at);
    if (at === index) break;
  }
  chosenHasChanged(message);
}

function clearChoice() {
  chosen.clear();
  beforeRange.clear();
  chosenHasChanged();
}

async function send(ids) {
  if (!ids.length) return;
  try {
    await request('uploads', { method: 'POST', body: JSON.stringify(ids) });
    for (const id of ids) chosen.delete(id);
    beforeRange.clear();
    chosenHasChanged(`${ids.length} added to the uploads`);
  } catch (error) {
    status.textContent = `Not uploaded: ${error.message}`;
  }
}

grid.addEventListener('click', event => {
  const index = event.target.closest('.tile')?.index;
  if (index === undefined) return;
  moveTo(index);
  if (event.shiftKey) chooseRange(index); else toggle(index);
});

grid.addEventListener('keydown', event => {
  const page = Math.max(1, Math.floor(viewport.clientHeight / (side + gap)) - 1) * columns;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page, Home: -total, End: total };
  if (event.altKey || event.metaKey) return;
  if (event.key in steps) {
    const index = active + steps[event.key];
    // Up and down keep the column.
    if (Math.abs(steps[event.key]) === columns && (index < 0 || index >= total)) return event.preventDefault();
    moveTo(index);
    if (event.shiftKey) chooseRange(active);
    else [anchor, beforeRange] = [active, new Map(chosen)];
  } else if (event.key === ' ') {
    if (event.shiftKey) chooseRange(active); else toggle(active);
  } else if (event.key === 'Enter') send([...chosen.keys()]);
  else if (event.key === 'Escape') clearChoice();
  else return;
  event.preventDefault();
});

async function begin() {
  for (let isLoaded = false; !isLoaded; ) {
    isLoaded = await load(0).then(() => true, error => {
      status.textContent = error.message;
      return new Promise(resume => setTimeout(resume, 1000));
    });
  }
  for (const [id, index] of JSON.parse(sessionStorage.getItem('chosen') ?? '[]')) chosen.set(id, index);
  layOut();
  chosenHasChanged();
}

upload.onclick = () => send([...chosen.keys()]);
none.onclick = clearChoice;
viewport.addEventListener('scroll', () => requestAnimationFrame(render), { passive: true });
new ResizeObserver(() => { if (total) layOut(); }).observe(viewport);
begin();
follow({
  again: send,
  onChange(list) {
    uploaded = new Set(list.filter(item => item.phase === 'done').map(item => item.id));
    redescribe();
  },
  onReturn() {
    for (const [index, tile] of tiles) {
      if (assets[index]) fill(tile, index);
      else load(index).catch(() => {});
    }
  },
});
