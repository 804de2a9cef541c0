#!/usr/bin/env python3
"""Extracts hostile archives, and compares everything outside of the folder before and after: hostile_archives.py BLOB.

Makes 200 archives and more: names and links that lead out of the folder, in every order, twins, devices, huge counts, deep
paths; with --corpora also extracts all files of a folder. Each is extracted twice, the second time with --overwrite.
"""
import argparse, io, itertools, os, shutil, stat, subprocess, sys, tarfile, tempfile, warnings, zipfile

parser = argparse.ArgumentParser()
parser.add_argument("blob")
parser.add_argument("--every", type=int, default=1, help="leave out all but each Nth of the archives made")
parser.add_argument("--corpora", help="a folder with further archives")
options = parser.parse_args()
blob = os.path.abspath(options.blob)
warnings.simplefilter("ignore")  # Duplicate names are meant.
sys.setrecursionlimit(20000)  # For os.walk.
root = os.path.realpath(tempfile.mkdtemp(prefix="hostile-archives-"))
victim, out = f"{root}/victim", f"{root}/work/out"


def entry(name, kind="file", target="", content=b"evil\n", mode=0o644):
    return {"name": os.fsencode(name), "kind": kind, "target": os.fsencode(target), "content": content, "mode": mode}


FILE, SYMLINK, HARDLINK = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
TAR_TYPES = {"file": FILE, "symlink": SYMLINK, "hardlink": HARDLINK, "folder": tarfile.DIRTYPE, "fifo": tarfile.FIFOTYPE,
             "char": tarfile.CHRTYPE, "block": tarfile.BLKTYPE}
MODES = {"file": stat.S_IFREG, "symlink": stat.S_IFLNK, "folder": stat.S_IFDIR, "fifo": stat.S_IFIFO, "char": stat.S_IFCHR,
         "block": stat.S_IFBLK, "hardlink": stat.S_IFREG}


def make_tar(entries, format=tarfile.GNU_FORMAT):
    bytes = io.BytesIO()
    for one in entries:
        info = tarfile.TarInfo(os.fsdecode(one["name"]))
        info.type, info.linkname, info.mode = TAR_TYPES[one["kind"]], os.fsdecode(one["target"]), one["mode"]
        info.size = len(one["content"]) if one["kind"] == "file" else 0
        info.devmajor, info.devminor = 1, 3
        bytes.write(info.tobuf(format, "utf-8", "surrogateescape"))
        if info.size:
            bytes.write(one["content"] + b"\0" * (-info.size % 512))
    return bytes.getvalue() + b"\0" * 1024


def make_zip(entries):
    bytes = io.BytesIO()
    with zipfile.ZipFile(bytes, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in entries:
            info = zipfile.ZipInfo(os.fsdecode(one["name"]).replace("\0", "\x01"))
            info.create_system, info.external_attr = 3, (MODES[one["kind"]] | one["mode"]) << 16
            archive.writestr(info, one["target"] if one["kind"] == "symlink" else one["content"])
    return bytes.getvalue()


def make_cpio(entries):
    bytes = b""
    for number, one in enumerate(entries + [entry("TRAILER!!!", content=b"")], 1):
        content = one["target"] if one["kind"] == "symlink" else one["content"] if one["kind"] == "file" else b""
        fields = [number, MODES[one["kind"]] | one["mode"], 0, 0, 1, 0, len(content), 0, 0, 1, 3, len(one["name"]) + 1, 0]
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + one["name"] + b"\0"
        for part in (header, content):
            bytes += part + b"\0" * (-len(part) % 4)
    return bytes


def archives():
    """Yields names, bytes, and whether an error is certain."""
    up = "../" * 40
    unsafe = ["../x", "a/../../x", "..", "a/..", "/" + "x", f"{victim}/x", "//x", f"{up}{victim[1:]}/x", "./../victim/x",
              "a/./../../victim/secret", "new\n/../../x", "..\n", "a\0b", "../out-twin/x", "x/" * 3000 + "y", "x/" * 1500 + "y", "y" * 300]
    for name in unsafe:
        harmless = name in ("..\n", "a\0b", "x/" * 1500 + "y")
        for kind in ("file", "folder", "symlink"):
            entries = [entry(name, kind, "a"), entry("good")]
            yield "name", make_tar(entries, tarfile.PAX_FORMAT), not harmless
        for make in (make_zip, make_cpio):
            if make is make_zip or "\0" not in name:
                yield "name", make([entry(name), entry("good")]), not harmless
    targets = [victim, "../../victim", "..", "/", f"{up}{victim[1:]}", "d/../../../victim", "../out/../../victim"]
    for target in targets:
        steps = [entry("l", "symlink", target), entry("l/secret"), entry("h", "hardlink", "l/secret"), entry("l", "folder")]
        for order in itertools.permutations(steps, 3):
            yield "link", make_tar(order), steps[0] in order
        yield "link", make_zip([entry("l", "symlink", target), entry("l/secret")]), True
        yield "link", make_cpio([entry("l", "symlink", target), entry("l/secret"), entry("l")]), True
    # Links within the folder, through which a later one would lead out.
    for first, second in [("deep/er", "../.."), ("deep/er", ".."), ("deep", ".")]:
        chain = [entry("deep/er/", "folder"), entry(f"{first}/a", "symlink", second),
                 entry("b", "symlink", f"{first}/a/../../victim"), entry("b/secret"), entry(f"{first}/a/../x"),
                 entry("c", "hardlink", f"{first}/a"), entry("c/../victim/secret")]
        for start in range(4):
            yield "chain", make_tar(chain[start:] + chain[:start]), True
    for target in (f"{victim}/secret", "../../victim/secret", "pre/secret", "before", "h", "missing", "../out/good"):
        yield "hard link", make_tar([entry("good"), entry("h", "hardlink", target), entry("h")]), True
    yield "before", make_tar([entry("pre/secret"), entry("pre/new/x"), entry("pre", "folder"), entry("before")]), True
    for kind in ("fifo", "char", "block"):
        for make in (make_tar, make_cpio, make_zip):
            yield "device", make([entry("dev", kind), entry("good")]), make is not make_zip
    for mode in (0o4755, 0o2755, 0o1777, 0o7777):
        yield "set-id", make_tar([entry("s", mode=mode), entry("d", "folder", mode=mode), entry("d/x", mode=mode)]), False
    twins = [("Case", "case"), ("caf\u00e9", "cafe\u0301"), ("same", "same"), ("same", "./same"), ("same", "same/")]
    for first, second in twins:
        same = first == second.strip("./")
        for make in (make_tar, make_zip, make_cpio):
            yield "twin", make([entry(first, content=b"first"), entry(second, content=b"second")]), same
    for make in (make_tar, make_zip):
        yield "place", make([entry("f"), entry("f/x"), entry("f/y/z")]), True
        yield "place", make([entry("f/x"), entry("f")]), True
    yield "count", make_tar([entry(f"n{number}", content=b"") for number in range(2000)]), True
    yield "count", make_tar([entry(f"{number}/" * 200 + "x") for number in range(10)], tarfile.PAX_FORMAT), True
    yield "staging", make_tar([entry(".blob-extract-0123456789abcdef/file"), entry(".Blob-Extract-x")]), True
    yield "closed", make_tar([entry("d", "folder", mode=0), entry("d/x"), entry("d/e", "folder", mode=0o555)]), False


def snapshot(folder):
    """Everything about a tree that a write can change."""
    found = {}
    for parent, folders, names in os.walk(folder):
        if parent == out:
            folders.clear()
            continue
        for path in [parent] + [f"{parent}/{name}" for name in names + folders]:
            status = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            times = (status.st_mtime_ns, status.st_ctime_ns) if path not in (f"{root}/work", out) else None
            links = status.st_nlink if path != out else None
            found[path] = (status.st_mode, status.st_ino, links, times, content)
    found.pop(out, None)
    return found


def check_inside(name):
    inodes = {}
    for parent, folders, names in os.walk(out):
        for path in [f"{parent}/{one}" for one in names + folders]:
            status = os.lstat(path)
            assert not os.path.basename(path).startswith(".blob-extract-"), f"{name}: {path} is left"
            assert stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode), path
            if path == f"{out}/pre":
                continue
            if stat.S_ISLNK(status.st_mode):
                real = os.path.realpath(path)
                assert real == out or real.startswith(out + "/"), f"{name}: {path} leads to {real}"
            else:
                assert not status.st_mode & 0o7000, f"{name}: {path} has mode {status.st_mode:o}"
            if stat.S_ISREG(status.st_mode):
                inodes.setdefault(status.st_ino, []).append(status.st_nlink)
    for links in inodes.values():
        assert links == [len(links)] * len(links), f"{name}: a file has a name elsewhere"


def extract(name, path, certain):
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    os.symlink(victim, f"{out}/pre")
    with open(f"{out}/before", "w") as file:
        file.write("before\n")
    before = snapshot(root)
    for more in ([], ["--overwrite"], ["--absolute-links=relative"]):
        done = subprocess.run([blob, "extract", path, "-C", out, "--max-members", "1500", "--max-bytes", "100000000", *more],
                              capture_output=True, timeout=120, env={**os.environ, "XDG_CACHE_HOME": "/dev/null"})
        text = done.stderr.decode(errors="surrogateescape")
        assert done.returncode >= 0 and done.returncode not in (70,), (name, done.returncode, text)
        assert all(line.startswith("blob: ") for line in text.splitlines()), (name, text)
        assert not certain or more or done.returncode != 0, (name, text)
        assert (done.returncode == 0) == (text == ""), (name, text)
        assert snapshot(root) == before, f"{name}: something outside was changed"
        if not more:
            with open(f"{out}/before") as file:
                assert file.read() == "before\n", f"{name}: an existing file was changed"
            assert os.readlink(f"{out}/pre") == victim, name
        check_inside(name)
        # A folder that a member closed.
        for parent, folders, _ in os.walk(out):
            for folder in folders:
                if not os.path.islink(f"{parent}/{folder}"):
                    os.chmod(f"{parent}/{folder}", 0o755)


os.makedirs(f"{victim}/folder")
for name in ("secret", "folder/inner"):
    with open(f"{victim}/{name}", "w") as file:
        file.write("secret\n")
os.chmod(victim, 0o777)
os.umask(0)
count = 0
try:
    for number, (name, content, certain) in enumerate(archives()):
        if number % options.every:
            continue
        path = f"{root}/archive"
        with open(path, "wb") as file:
            file.write(content)
        extract(f"{name} {number}", path, certain)
        count += 1
    assert count >= 200 // options.every, count
    for parent, _, names in os.walk(options.corpora or f"{root}/none"):
        for name in sorted(names):
            extract(name, f"{parent}/{name}", False)
            count += 1
finally:
    if sys.exc_info()[0] is None or os.environ.get("KEEP") is None:
        subprocess.run(["chmod", "-R", "u+rwx", root], stderr=subprocess.DEVNULL)
        shutil.rmtree(root, ignore_errors=True)
print(f"{count} archives: nothing outside of the folder was changed")
