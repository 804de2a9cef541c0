#!/usr/bin/env python3
"""Kills imports of folders, removals, adjustments, changes of albums and checks of a library: library_kills.py BLOB.

Several run at once, and are killed at random places; before some rounds a byte of the journal is damaged. After each
round, every URL that was printed and not removed must be read with its bytes, and every change that was acknowledged be
in the catalogue. In the end the check must find nothing, also with a catalogue that is made again from the journal,
which has the same adjustments and albums, and the photos that were imported must be untouched.
"""
import argparse, collections, hashlib, os, random, re, shutil, signal, sqlite3, struct, subprocess, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("blob")
parser.add_argument("--kills", type=int, default=200)
parser.add_argument("--files", type=int, default=300)
parser.add_argument("--seed", type=int, default=int(time.time()))
options = parser.parse_args()
blob = os.path.abspath(options.blob)
print(f"seed {options.seed}", flush=True)
choice = random.Random(options.seed)

root = tempfile.mkdtemp(prefix="library-kills-")
library, photos = f"{root}/library", f"{root}/photos"


def run(*arguments, status=0):
    done = subprocess.run([blob, *arguments, "--library", library], capture_output=True, text=True)
    assert done.returncode in (status, 0), (arguments, done.returncode, done.stdout[-500:], done.stderr)
    return done.stdout.split("\n")[:-1]


def digests():
    found = {}
    for folder, _, names in os.walk(photos):
        for name in names:
            path = f"{folder}/{name}"
            status = os.stat(path)
            with open(path, "rb") as file:
                found[path] = (hashlib.sha256(file.read()).hexdigest(), status.st_mtime_ns, status.st_ino)
    return found


def rows(sql):
    catalogue = sqlite3.connect(f"file:{library}/catalog.sqlite?mode=ro", uri=True)
    try:
        return catalogue.execute(sql).fetchall()
    finally:
        catalogue.close()


def degrees():
    """The quarter turns of the adjusted assets, by identifier; the pictures have no other adjustment."""
    turns = {"1": 0, "6": 90, "3": 180, "8": 270}
    found = rows("SELECT uuid, adjustment FROM asset WHERE adjustment IS NOT NULL")
    return {uuid: turns[re.search(r'"value":(\d)', recipe).group(1)] for uuid, recipe in found}


def say(text):
    print(f"{time.time() - started:4.0f} s: {text}", flush=True)


def listed_in_album():
    return {uuid for uuid, in rows("SELECT asset.uuid FROM album_item JOIN asset ON asset.id = asset_id")}


def damage_journal():
    """Flips a bit of a line behind the first one: the catalogue has its change."""
    with open(f"{library}/journal.jsonl", "r+b") as journal:
        place = choice.randrange(len(journal.readline()), os.fstat(journal.fileno()).st_size)
        byte = os.pread(journal.fileno(), 1, place)[0]
        os.pwrite(journal.fileno(), bytes([byte ^ 1]), place)


def identifier(url):
    return re.search("id=([0-9A-F-]{36})", url).group(1)


# The headers of a JPEG of 640 x 480 pixels, which is all that an adjustment needs to know.
HEADERS = b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 17, 8, 480, 640, 3) + bytes([1, 17, 0, 2, 17, 1, 3, 17, 1])
for number in range(options.files):
    folder = f"{photos}/DCIM/{number % 3}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{number}.jpg", "wb") as file:
        file.write(HEADERS + b"\xff\xd9photo %d " % number * (1 + choice.randrange(2000)))
before = digests()
bytes_of = {value[0] for value in before.values()}

run("library", "create")
start = time.time()
run("library", "album", "create", "album")
# How long the command takes to start and to commit here, by which the times of the kills are chosen.
pace = time.time() - start
run("library", "album", "create", "stream", "--shared")
kept, kills, rounds, started = {}, 0, 0, time.time()
# The values that an asset may have: several after a change that was killed.
turned, in_album, items, acknowledged, killed, said = {}, {}, set(), 0, collections.Counter(), 0
findings = 0
try:
    while kills < options.kills:
        rounds += 1
        jobs = []
        # In every second round, three importers run at once.
        for part in choice.sample(range(3), choice.choice([1, 2, 3, 3])):
            reference = ["--by-reference"] if part == 2 else []
            jobs.append(["library", "import", f"{photos}/DCIM/{part}", *reference])
        removed = choice.sample(sorted(kept), min(len(kept), choice.randrange(8)))
        if removed:
            jobs.append(["library", "remove", *removed])
        assets = [url for url in sorted(kept) if url not in removed and url not in items]
        changed = choice.sample(assets, min(len(assets), choice.randrange(5)))
        for url in changed[:2]:
            jobs.append(["library", "adjust", url, "--rotate", str(choice.choice([90, 180, 270]))])
        for url in changed[2:]:
            jobs.append(["library", "album", choice.choice(["add", "add", "remove"]), "album", url])
        if assets:
            jobs.append(["library", "album", "add", "stream", *choice.sample(assets, 1)])
        if rounds % 4 == 0:
            damage_journal()
        jobs.append(["library", "check", *choice.choice([["--repair"], ["--deep"], ["--deep", "--repair"], []])])
        choice.shuffle(jobs)
        processes = []
        for job in jobs:
            output = tempfile.TemporaryFile(dir=root)
            processes.append((job, output, subprocess.Popen(
                [blob, *job, "--library", library], stdout=output, stderr=subprocess.DEVNULL)))
        for url in removed:
            kept.pop(url)
        for job, _, process in processes:
            try:
                process.wait(choice.random() * choice.choice([1, 2, 4, 8]) * pace)
            except subprocess.TimeoutExpired:
                process.send_signal(choice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
                kills += 1
                killed[job[1]] += 1
        for job, output, process in processes:
            process.wait(60)
            output.seek(0)
            # A line that a kill cut off is no promise.
            for line in output.read().decode().split("\n")[:-1]:
                findings += job[1] == "check"
                if line not in removed and (job[1] == "import" or job[2:4] == ["add", "stream"]):
                    kept[line] = True
                if job[2:4] == ["add", "stream"]:
                    items.add(line)
            # An album that lacks the asset refuses its removal.
            is_done = process.returncode == 0
            acknowledged += is_done and job[1] in ("adjust", "album")
            if job[1] == "adjust":
                before_it = turned.get(identifier(job[2]), {0})
                turned[identifier(job[2])] = {int(job[4])} if is_done else before_it | {int(job[4])}
            elif job[1] == "album" and job[3] == "album":
                before_it = in_album.get(identifier(job[4]), {False})
                value = job[2] == "add"
                in_album[identifier(job[4])] = {value} if is_done else before_it | {value}
        # Names may be given out again for bytes that were removed meanwhile: what is listed now is read.
        listed = set(run("library", "ls")) | set(run("library", "album", "ls", "stream"))
        lost = [url for url in kept if url not in listed and url not in removed]
        assert not lost, ("lost", lost[:3], rounds)
        found, listed_now = degrees(), listed_in_album()
        for url in kept:
            id = identifier(url)
            assert found.get(id, 0) in turned.get(id, {0}), ("adjustment", url, found.get(id), turned.get(id), rounds)
            assert (id in listed_now) in in_album.get(id, {False}), ("album", url, id in listed_now, rounds)
            # What a killed change has led to stays.
            turned[id], in_album[id] = {found.get(id, 0)}, {id in listed_now}
        read = [f"{url}&version=original" for url in choice.sample(sorted(kept), min(len(kept), 20))]
        for line in run("sum", *read) if read else []:
            assert line.split()[0] in bytes_of, line
        if kills >= said + 20:
            said = kills
            say(f"{kills} kills in {rounds} rounds, {len(kept)} promised, {acknowledged} changes acknowledged, "
                f"{findings} findings of checks")
    last = run("library", "check", "--deep", "--repair", status=65)
    say(f"{len(last)} findings after the last of {kills} kills: {dict(killed)}")
    run("library", "import", f"{photos}/DCIM")
    assert run("library", "check", "--deep") == []

    def facts():
        lists = [sorted(run("library", *words)) for words in (["ls"], ["album", "ls", "stream"])]
        return lists, degrees(), listed_in_album()

    listed = facts()
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(f"{library}/catalog.sqlite{suffix}"):
            os.unlink(f"{library}/catalog.sqlite{suffix}")
    run("library", "check", "--repair", status=65)
    assert facts() == listed
    run("library", "check", "--deep", "--repair")
    assert run("library", "check", "--deep") == []
    assert not [name for name in os.listdir(f"{library}/originals/.incoming")]
    assert digests() == before, "a photo was touched"
    print(f"{kills} kills in {rounds} rounds, {time.time() - started:.0f} s: {len(kept)} promised, {len(listed[0][0])} "
          f"assets, {acknowledged} changes of adjustments and albums acknowledged, {len(listed[1])} adjusted")
finally:
    shutil.rmtree(root)
