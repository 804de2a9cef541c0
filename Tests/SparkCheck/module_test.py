"""The module of Examples/Spark without Spark: python3 module_test.py BLOB."""

import gzip
import importlib.util
import io
import json
import os
import random
import select
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Examples", "Spark"))
import blob_spark

BLOB = sys.argv.pop()


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=b"", mode=0o600):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def assert_no_process_is_left(self):
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


class Ranges(InAFolder):
    def test_all_chunks_together_are_the_file(self):
        random.seed(7)
        text = b"".join(
            random.randbytes(random.choice([0, 9, 300, 70_000])).replace(b"\n", b"") + random.choice([b"\n", b"\r\n"])
            for _ in range(60)
        )
        blob_spark.CHUNK = 5000
        for content in [text, text + b"the last", b"", b"\n", b"x" * 20_000]:
            path = self.path("text", content)
            for count in ["1", "5"]:
                options = {"blob": BLOB, "count": count}
                parts = [list(blob_spark.chunks(one, options)) for one in blob_spark.splits(path, options)]
                self.assertEqual(b"".join(b"".join(part) for part in parts), content)
                for part in parts:
                    # Only the last line of the file may be without its end.
                    self.assertTrue(all(chunk.endswith(b"\n") or content.endswith(chunk) for chunk in part))

    def test_a_process_that_fails_fails_the_task(self):
        ends = ["exit 3", "kill -9 $$", "echo broken: it is >&2; exit 65"]
        for end in ends:
            fake = self.path("fake", f"#!/bin/sh\nprintf 'one\\ntwo\\nhal'\n{end}\n".encode(), 0o700)
            got = []
            with self.assertRaises(RuntimeError) as caught:
                for chunk in blob_spark.chunks([], {"blob": fake}):
                    got.append(chunk)
            self.assertEqual(got, [b"one\ntwo\n"])
            self.assertTrue("broken: it is" in str(caught.exception) or "ended with" in str(caught.exception))

    def test_what_cannot_be_split_says_why(self):
        with self.assertRaisesRegex(RuntimeError, "notFound"):
            blob_spark.splits(self.path("text") + ".missing", {"blob": BLOB})

    def test_a_task_that_is_given_up_leaves_no_process(self):
        slow = self.path("slow", b"#!/bin/sh\nwhile echo line; do :; done\n", 0o700)
        chunks = blob_spark.chunks([], {"blob": slow})
        next(chunks)
        chunks.close()
        self.assert_no_process_is_left()


class Members(InAFolder):
    def test_each_file_is_read_once_whatever_its_name(self):
        names = ["a", "dir/b c", "@1", "odd#!%*", "twice", "twice", "\u00e4"]
        inner = self.path("x.tar")
        with tarfile.open(inner, "w") as file:
            for number, name in enumerate(["dir/", *names]):
                one = tarfile.TarInfo(name)
                one.type, one.size = (tarfile.DIRTYPE, 0) if number == 0 else (tarfile.REGTYPE, number)
                file.addfile(one, io.BytesIO(b"x" * number))
        with tarfile.open(self.path("outer.tar"), "w") as file:
            file.add(inner, "x.tar")
        for locator in ["x.tar", "outer.tar#x.tar"]:
            locator = os.path.join(self.folder.name, locator)
            tasks = blob_spark.members(locator, {"blob": BLOB, "count": "3"})
            self.assertEqual(len(tasks), 3)
            found = [blob_spark.whole(["--", path], {"blob": BLOB}) for task in tasks for path in task]
            self.assertEqual(sorted(found), [b"x" * number for number in range(1, len(names) + 1)])
            paths = {path.removeprefix(locator) for task in tasks for path in task}
            self.assertIn(("!/" if "#" in locator else "#") + "dir/b c", paths)

    def test_what_is_not_whole_fails(self):
        for end in ["exit 65", "kill -9 $$"]:
            fake = self.path("fake", f"#!/bin/sh\necho '{{}}'\n{end}\n".encode(), 0o700)
            with self.assertRaises(RuntimeError):
                blob_spark.whole([], {"blob": fake})
            with self.assertRaises(RuntimeError):
                blob_spark.members("x", {"blob": fake})


class Damage(InAFolder):
    """An index beside the data, one or both of which changed: what is read is right, or fails."""

    def setUp(self):
        super().setUp()
        random.seed(13)
        self.gzip, self.index = self.path("text.gz", self.packed(3)), self.path("index")
        os.remove(self.index)
        subprocess.run(
            [BLOB, "index", "build", "--output", self.index, self.gzip], check=True, stdout=subprocess.DEVNULL
        )

    def packed(self, seed):
        choice = random.Random(seed)
        words = [choice.randbytes(5).hex().encode() for _ in range(1000)]
        text = b"\n".join(b" ".join(choice.choices(words, k=9)) for _ in range(16_000)) + b"\n"
        return gzip.compress(text, 1, mtime=0)

    def ranges(self):
        return blob_spark.splits(self.gzip, {"blob": BLOB, "count": "4", "index": self.index})

    def read(self, ranges=None):
        """The lines of ranges, all by default, or None when the job would have failed."""
        options = {"blob": BLOB, "index": self.index}
        try:
            return b"".join(chunk for one in ranges or self.ranges() for chunk in blob_spark.chunks(one, options))
        except RuntimeError:
            return None

    def expect_right_or_failed(self, found):
        with open(self.gzip, "rb") as file:
            try:
                whole = gzip.decompress(file.read())
            except (OSError, EOFError, zlib.error):
                whole = None
        self.assertTrue(found is None or found == whole)

    def damage(self, path, choice):
        """Flips a bit, empties a page, cuts the end off, or doubles bytes."""
        size = os.path.getsize(path)
        at = choice.randrange(size)
        with open(path, "r+b") as file:
            file.seek(at)
            found = file.read(4096)
            kind = choice.choice(["bit", "page", "end", "double"])
            if kind == "end":
                file.truncate(at)
                return
            file.seek(at)
            changes = {
                "bit": bytes([found[0] ^ 1 << choice.randrange(8)]), "page": bytes(len(found)), "double": found[:9] + found
            }
            file.write(changes[kind])

    def test_an_index_that_is_whole_is_used(self):
        self.assertGreater(len(self.ranges()), 1)
        with open(self.gzip, "rb") as file:
            self.assertEqual(self.read(), gzip.decompress(file.read()))

    def test_a_damaged_index_or_gzip_is_never_read_wrong(self):
        whole = {}
        for path in [self.gzip, self.index]:
            with open(path, "rb") as file:
                whole[os.path.basename(path)] = file.read()
        ranges = self.ranges()
        outcomes = {"right": 0, "failed": 0}
        for seed in range(12):
            with self.subTest(seed=seed):
                choice = random.Random(seed)
                for name, content in whole.items():
                    self.path(name, content)
                for path in [[self.index], [self.gzip], [self.index, self.gzip]][seed % 3]:
                    self.damage(path, choice)
                # Most after the ranges were cut, as in a job that runs.
                found = self.read(ranges if seed % 4 else None)
                self.expect_right_or_failed(found)
                outcomes["right" if found else "failed"] += 1
        self.assertTrue(all(outcomes.values()), outcomes)

    def test_a_stale_index_is_never_read_wrong(self):
        first, other = self.packed(3), self.packed(4)
        joined, ranges = first + other, self.ranges()
        for name, content in {"other": other, "more": joined, "less": first[: len(first) // 2], "none": b""}.items():
            with self.subTest(name):
                self.path("text.gz", content)
                for one in [ranges, None]:
                    self.expect_right_or_failed(self.read(one))


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow")
class Lines(unittest.TestCase):
    def test_they_are_without_their_ends(self):
        random.seed(5)
        odd = [b"\n", b"\r\n", b"\r\r\n", b"a", b"\r", b"\xff\xfe", "é日本".encode(), b"x" * 300]
        chunks = [b"".join(random.choices(odd[:kinds], k=random.randint(1, 40))) for kinds in range(1, 9) for _ in range(40)]
        for chunk in chunks:
            expected = [
                (line[:-1] if line.endswith(b"\r") else line).decode(errors="replace")
                for line in (chunk if chunk.endswith(b"\n") else chunk + b"\n").split(b"\n")[:-1]
            ]
            self.assertEqual(blob_spark.lines(chunk).to_pylist(), expected, chunk)


class Bins(unittest.TestCase):
    def test_they_lose_nothing_and_none_is_much_heavier_than_the_others(self):
        random.seed(11)
        for count in [1, 2, 7, 100]:
            for blobs in [0, 1, 5, 1000]:
                sizes = {str(one): int(random.paretovariate(1) * 1000) for one in range(blobs)}
                dealt = blob_spark.bins(sizes, count)
                self.assertEqual(sorted(one for part in dealt for one in part), sorted(sizes))
                self.assertLessEqual(len(dealt), count)
                weights = [sum(sizes[one] + blob_spark.ALLOWANCE for one in part) for part in dealt]
                largest = max(sizes.values(), default=0) + blob_spark.ALLOWANCE
                self.assertLessEqual(max(weights, default=0), sum(weights) / count + largest)

    def test_bins_of_which_none_has_to_be_heavier_are_of_one_weight(self):
        random.seed(12)
        sizes = {str(one): min(int(random.paretovariate(1) * 20_000), 4_000_000) for one in range(2000)}
        weights = [sum(sizes[one] + blob_spark.ALLOWANCE for one in part) for part in blob_spark.bins(sizes, 20)]
        self.assertLess(max(weights), sum(weights) / len(weights) * 1.01)

    def test_blobs_without_a_size_are_dealt_by_their_number(self):
        dealt = blob_spark.bins({str(one): 0 for one in range(90)}, 9)
        self.assertEqual([len(part) for part in dealt], [10] * 9)

    def test_a_line_of_a_manifest_may_be_without_a_size(self):
        self.assertEqual(blob_spark.entry("a b.zip#c\t12"), ("a b.zip#c", 12))
        self.assertEqual(blob_spark.entry("a"), ("a", 0))


class Tasks(InAFolder):
    LINES = """while read -r name; do [ -z "$name" ] || echo "{\\"locator\\":\\"$name\\",\\"state\\":\\"stored\\"}"; done\n"""

    def put(self, script, bins):
        fake = self.path("fake", f"#!/bin/sh\n{script}".encode(), 0o700)
        return blob_spark.put(iter(bins), "http://127.0.0.1/", {"blob": fake})

    def test_statuses_0_and_1_have_a_line_for_each_blob(self):
        many = [f"{one}.gz" for one in range(20_000)]
        for status in [0, 1]:
            lines = list(self.put(self.LINES + f"exit {status}", [["one", "two"], many]))
            self.assertEqual([json.loads(line)["locator"] for line in lines], ["one", "two", *many])

    def test_each_line_arrives_before_the_next_blob_is_stored(self):
        lines = self.put("read -r name; echo '{\"locator\":\"one\"}'; exec sleep 1000", [["one", "two"]])
        self.assertIn("one", next(lines))
        lines.close()
        self.assert_no_process_is_left()

    def test_what_is_not_a_line_for_each_blob_fails_the_task(self):
        scripts = {
            "killed": self.LINES + "kill -9 $$",
            "ended with 3": self.LINES + "exit 3",
            "no target": self.LINES + "echo no target >&2; exit 64",
            "no line about three": "head -n 2 | (" + self.LINES + ")",
            "no line about one": "",
            "out of turn": "sed p | (" + self.LINES + ")",
            "two, other": "sed s/two/other/ | (" + self.LINES + ")",
            "cut": "printf '{\"locator\":\"on'",
            "a line behind the last": self.LINES + "echo '{\"locator\":\"four\"}'",
        }
        for name, script in scripts.items():
            with self.subTest(name), self.assertRaises((RuntimeError, ValueError)):
                list(self.put(script, [["one", "two", "three"]]))
            self.assert_no_process_is_left()

    def test_a_locator_that_is_not_one_line_fails_the_task(self):
        for name in ["one\ntwo", "", "one\n"]:
            with self.subTest(name), self.assertRaises(RuntimeError):
                list(self.put(self.LINES, [[name]]))

    def test_blobs_longer_than_a_part_are_dealt_by_their_parts(self):
        begin = """while read -r name; do
            case $name in
                long*) for part in 1 2 3; do
                    echo "{\\"length\\":$((part * 10)),\\"locator\\":\\"$name\\",\\"part\\":$part,\\"upload\\":\\"of $name\\"}"
                done ;;
                *) echo "$name" ;;
            esac
        done
        """
        options = {"blob": self.path("begin", f"#!/bin/sh\n{begin}".encode(), 0o700), "part_size": 20}
        # Locators that look like something else, and one with what Unicode takes for ends of lines.
        whole = {"{other": 99, "{}": 98, '{"locator":"x"}': 97, "a\u2028b\x0bc": 96}
        sizes = {"short": 20, "long 1": 60, **whole, "long 2": 61}
        firsts = []
        units = blob_spark.dealt(sizes, "s3://bucket/", options, firsts)
        parts = [one for one in units if one not in sizes]
        self.assertEqual([units[one] for one in parts], [10, 20, 30] * 2)
        self.assertEqual([blob_spark.name(one) for one in parts], ["long 1"] * 3 + ["long 2"] * 3)
        self.assertEqual({one: units[one] for one in units if one in sizes}, {**whole, "short": 20})
        self.assertEqual(sorted(firsts), sorted([parts[0], parts[3]]))
        self.assertEqual(blob_spark.dealt(sizes, "http://127.0.0.1/", options, []), sizes)
        # A line about a part has the locator of the blob.
        lines = "while read -r part; do echo \"$part\"; done"
        self.assertEqual(len(list(self.put(lines, [parts]))), 6)
        for change in ["s/long 1/other/", 's/"part":2/"part":3/', "2d"]:
            with self.assertRaises(RuntimeError):
                list(self.put(f"sed '{change}' | ({lines})", [parts]))

    def test_a_blob_that_failed_has_its_line(self):
        missing = self.path("missing") + ".not"
        (line,) = blob_spark.put(iter([[missing]]), "http://127.0.0.1:9/", {"blob": BLOB, "put": "--retry 0"})
        found = json.loads(line)
        self.assertEqual((found["locator"], found["state"]), (missing, "failed"))
        self.assertEqual(found["error"]["code"], "notFound")

    @unittest.skipUnless(sys.platform == "linux", "prctl(2)")
    def test_the_process_of_a_killed_worker_ends(self):
        fake = self.path("fake", b"#!/bin/sh\necho '{\"locator\":\"one\"}'; echo $$ >&2; exec sleep 1000\n", 0o700)
        worker = (
            "import sys, os; sys.path.insert(0, sys.argv[1]); import blob_spark, subprocess\n"
            "lines = blob_spark.put(iter([['one', 'two']]), 'http://127.0.0.1/', {'blob': sys.argv[2]})\n"
            "next(lines); print(open(f'/proc/self/task/{os.getpid()}/children').read(), flush=True); next(lines)"
        )
        folder = os.path.dirname(blob_spark.__file__)
        process = subprocess.Popen([sys.executable, "-c", worker, folder, fake], stdout=subprocess.PIPE, text=True)
        child = int(process.stdout.readline())
        # Opened while the child lives, so that its number cannot be another's.
        ended = os.pidfd_open(child)
        process.kill()
        process.wait()
        process.stdout.close()
        self.assertTrue(select.select([ended], [], [], 10)[0])
        os.close(ended)


if __name__ == "__main__":
    unittest.main()
