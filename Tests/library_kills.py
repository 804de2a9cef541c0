#!/usr/bin/env python3
"""Kills imports of folders, removals, checks and restorations of a library at random places: library_kills.py BLOB.

Several run at once. After each round, every URL that was printed and not removed must be read with its bytes, in the end
the check must find nothing, also with a catalogue that is made again from the journal, and the photos that were imported
must be untouched.
"""
import argparse, hashlib, os, random, re, shutil, signal, subprocess, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("blob")
parser.add_argument("--kills", type=int, default=200)
parser.add_argument("--files", type=int, default=300)
parser.add_argument("--seed", type=int, default=int(time.time()))
options = parser.parse_args()
blob = os.path.abspath(options.blob)
print(f"seed {options.seed}")
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


for number in range(options.files):
    folder = f"{photos}/DCIM/{number % 3}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{number}.jpg", "wb") as file:
        file.write(b"photo %d " % number * (1 + choice.randrange(20000)))
before = digests()
bytes_of = {value[0] for value in before.values()}

run("library", "create")
kept, kills, rounds, started = {}, 0, 0, time.time()
try:
    while kills < options.kills:
        rounds += 1
        jobs = []
        for part in choice.sample(range(3), choice.randint(1, 3)):
            reference = ["--by-reference"] if part == 2 else []
            jobs.append(["library", "import", f"{photos}/DCIM/{part}", *reference])
        removed = choice.sample(sorted(kept), min(len(kept), choice.randrange(8)))
        if removed:
            jobs.append(["library", "remove", *removed])
        jobs.append(["library", "check", *choice.choice([["--repair"], ["--deep"], ["--deep", "--repair"], []])])
        choice.shuffle(jobs)
        processes = []
        for job in jobs:
            output = tempfile.TemporaryFile(dir=root)
            processes.append((job, output, subprocess.Popen(
                [blob, *job, "--library", library], stdout=output, stderr=subprocess.DEVNULL)))
        for url in removed:
            kept.pop(url)
        for _, _, process in processes:
            time.sleep(choice.random() * choice.choice([0.1, 0.5, 2]))
            if process.poll() is None:
                process.send_signal(choice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
                kills += 1
        for job, output, process in processes:
            process.wait(60)
            output.seek(0)
            # A line that a kill cut off is no promise.
            for line in output.read().decode().split("\n")[:-1]:
                if job[1] == "import" and line not in removed:
                    kept[line] = True
        # Names may be given out again for bytes that were removed meanwhile: what is listed now is read.
        listed = set(run("library", "ls"))
        lost = [url for url in kept if url not in listed and url not in removed]
        assert not lost, ("lost", lost[:3], rounds)
        for url in choice.sample(sorted(kept), min(len(kept), 20)):
            found = subprocess.run([blob, "cat", url, "--library", library], capture_output=True)
            assert found.returncode == 0, (url, found.stderr)
            assert hashlib.sha256(found.stdout).hexdigest() in bytes_of, url
    run("library", "check", "--deep", "--repair", status=65)
    run("library", "import", f"{photos}/DCIM")
    assert run("library", "check", "--deep") == []
    listed = run("library", "ls")
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(f"{library}/catalog.sqlite{suffix}"):
            os.unlink(f"{library}/catalog.sqlite{suffix}")
    run("library", "check", "--repair", status=65)
    assert sorted(run("library", "ls")) == sorted(listed)
    run("library", "check", "--deep", "--repair")
    assert run("library", "check", "--deep") == []
    assert not [name for name in os.listdir(f"{library}/originals/.incoming")]
    assert digests() == before, "a photo was touched"
    print(f"{kills} kills in {rounds} rounds, {time.time() - started:.0f} s: {len(kept)} promised, {len(listed)} assets")
finally:
    shutil.rmtree(root)
