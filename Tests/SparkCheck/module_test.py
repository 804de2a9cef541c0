"""The module of Examples/Spark without Spark: python3 module_test.py BLOB."""

import os
import random
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Examples", "Spark"))
import blob_spark

BLOB = sys.argv.pop()


class Ranges(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=b"", mode=0o600):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def test_all_chunks_together_are_the_file(self):
        random.seed(7)
        text = b"".join(
            random.randbytes(random.choice([0, 9, 300, 70_000])).replace(b"\n", b"") + random.choice([b"\n", b"\r\n"])
            for _ in range(60)
        )
        blob_spark.CHUNK = 5000
        for content in [text, text + b"the last", b"", b"\n", b"x" * 20_000]:
            path = self.path("text", content)
            for count in ["1", "3", "11"]:
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
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


if __name__ == "__main__":
    unittest.main()
