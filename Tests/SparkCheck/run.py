"""The module of Examples/Spark on real Spark: python3 run.py BLOB [MIB]. Needs pyspark, pyarrow and Java.

Cuts a file of 64 MiB of lines in 200 ways, and compares each with the whole; counts the lines of one gzip of MIB decoded
mebibytes (default: 5488, which are 1.1 GiB of gzip) with Spark's own reader and with this one, in turn, and compares
digests, and what the processes read and need in memory. Reads ranges and members, and writes.
"""

import gzip
import hashlib
import io
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Examples", "Spark"))
import blob_spark
from pyspark.sql import SparkSession, functions

BLOB = os.path.abspath(sys.argv[1])
MEBIBYTES = int(sys.argv[2]) if len(sys.argv) > 2 else 5488


def odd_lines(byte_count):
    """Lines with LF and CRLF, empty ones, some longer than a range, and a last one without an end."""
    random.seed(3)
    words = [random.randbytes(random.randint(1, 9)).hex().encode() for _ in range(3000)]
    parts, count = [], 0
    while count < byte_count:
        line = b" ".join(random.choices(words, k=random.choice([0, 3, 12, 40])))
        if random.random() < 0.00001:
            line *= 20_000
        line += random.choice([b"\n", b"\n", b"\r\n"])
        parts.append(line)
        count += len(line)
    return b"".join(parts) + b"the last"


def compress(folder, name, content, times=1):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        packer = subprocess.Popen(["gzip", "-6"], stdin=subprocess.PIPE, stdout=file)
        for _ in range(times):
            packer.stdin.write(content)
        packer.stdin.close()
        assert packer.wait() == 0
    subprocess.run([BLOB, "index", "build", path], check=True, stdout=subprocess.DEVNULL)
    return path


def cut_in_many_ways(folder):
    content = odd_lines(64 << 20)
    path = compress(folder, "odd.gz", content)
    want, line_count = hashlib.sha256(content).digest(), len(content.splitlines())
    for way in range(1, 201):
        options = {"blob": BLOB, "count": str(way)} if way % 2 else {"blob": BLOB, "bytes": str((64 << 20) // way + way)}
        hasher, count = hashlib.sha256(), 0
        for one in blob_spark.splits(path, options):
            for chunk in blob_spark.chunks(one, options):
                hasher.update(chunk)
                count += len(blob_spark.lines(chunk))
        assert hasher.digest() == want, f"way {way} has other bytes"
        assert count == content.count(b"\n") + 1, f"way {way} has {count} lines"
        if way % 20 == 0:
            print(f"{way} ways of cutting {len(content)} bytes: each line once", flush=True)
    return path, content


def rows_and_writes(spark, folder):
    """Ranges and members are the bytes of the whole; what is written has a line each, also what fails."""
    path = os.path.join(folder, "rows.gz")
    text = odd_lines(8 << 20)
    compress(folder, "rows.gz", text)
    reader = spark.read.format("blob").option("blob", BLOB)
    found = reader.option("rows", "ranges").option("count", "5").load(path).orderBy("offset").collect()
    assert len(found) > 1 and b"".join(row.bytes for row in found) == text
    assert all(text[row.offset :].startswith(row.bytes) for row in found)

    archive, contents = os.path.join(folder, "members.tgz"), {}
    with tarfile.open(archive, "w:gz") as file:
        for number in range(50):
            name, content = f"odd #{number % 49}/%.txt", random.randbytes(number * 1000)
            one = tarfile.TarInfo(name)
            one.size = len(content)
            file.addfile(one, io.BytesIO(content))
            contents[number] = content
    found = reader.option("rows", "members").option("count", "3").load(archive).collect()
    assert sorted(row.bytes for row in found) == sorted(contents.values())
    for row in found:
        again = subprocess.run([BLOB, "cat", "--", row.path], check=True, capture_output=True).stdout
        assert (again, row.offset) == (row.bytes, 0), row.path
    print("Ranges and members are the bytes of the whole", flush=True)

    command = [sys.executable, os.path.join(os.path.dirname(__file__), "objects.py"), "1", "60", "1000000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        there = [f"{url}/source/{one}" for one in range(60)]
        report = os.path.join(folder, "report.jsonl")
        for locators, failures in [(there, 0), (there + [url + "/none"], 1)]:
            frame = spark.createDataFrame([(one,) for one in locators], "locator string").repartition(4)
            write = frame.write.format("blob").option("blob", BLOB).option("report", report).mode("append")
            try:
                write.save(url + "/objects/")
                assert not failures
            except Exception as error:
                assert failures and "1 of 61 blobs failed" in str(error), error
            lines = [json.loads(line) for line in open(report)]
            assert sorted(line["locator"] for line in lines) == sorted(locators)
            assert sum(line["state"] == "failed" for line in lines) == failures
        with urllib.request.urlopen(url + "/state") as answer:
            state = json.load(answer)
        assert set(state["objects"]) == {hashlib.sha256(one.encode()).hexdigest() for one in there}
        server.stdin.close()
    print("60 blobs of a data frame are stored, and the one that is not there fails the job", flush=True)


def costs(path, options):
    """The bytes that the processes for all ranges read, of a gzip and of its index, and the MiB that one of them needs."""
    options = {**options, "index": path + ".index"}
    subprocess.run([BLOB, "index", "build", "--output", options["index"], path], check=True, stdout=subprocess.DEVNULL)
    read, peak, ranges = 0, 0, blob_spark.splits(path, options)
    for one in ranges:
        command = [BLOB, "cat", "--records", "lines", *blob_spark.index(options), *one]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        while process.stdout.read(1 << 20):
            # The peak of its own: what the system tells of an ended child includes this process before exec.
            with open(f"/proc/{process.pid}/status") as facts:
                peak = max([peak] + [int(fact.split()[1]) / 1024 for fact in facts if fact.startswith("VmHWM")])
        # What the system has counted is there until the process is waited for.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with open(f"/proc/{process.pid}/io") as counts:
            read += int(counts.readline().split()[1])
        assert process.wait() == 0, one
        process.stdout.close()
    # All together read the index about once, each its part.
    index = os.path.getsize(options["index"])
    return read - index, index, peak


def digest(frame):
    """The number of rows, and a sum of their digests, whatever their order."""
    value = functions.sum(functions.xxhash64("value").cast("decimal(38,0)"))
    return tuple(frame.agg(functions.count("*"), value).collect()[0])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        odd, content = cut_in_many_ways(folder)
        spark = (
            SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.local.dir", folder).config("spark.sql.warehouse.dir", folder).getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        blob_spark.register(spark)
        rows_and_writes(spark, folder)
        mine = spark.read.format("blob").option("blob", BLOB).option("count", "9").load(odd)
        own = spark.read.option("lineSep", "\n").text(odd)
        own = own.select(functions.regexp_replace("value", "\r$", "").alias("value"))
        assert digest(mine) == digest(own), "Spark's own reader has other lines"
        print(f"{mine.count()} odd lines: those of Spark's own reader", flush=True)
        broken = os.path.join(folder, "broken.gz")
        shutil.copy(odd, broken)
        subprocess.run([BLOB, "index", "build", broken], check=True, stdout=subprocess.DEVNULL)
        with open(broken, "r+b") as file:
            file.seek(os.path.getsize(broken) // 2)
            file.write(bytes(64))
        try:
            spark.read.format("blob").option("blob", BLOB).option("count", "9").load(broken).count()
            raise SystemExit("a damaged gzip was counted")
        except Exception as error:
            print(f"a damaged gzip fails: {type(error).__name__}", flush=True)
        text = odd_lines(16 << 20)[: -len(b"the last")]
        large = compress(folder, "large.gz", text, MEBIBYTES // 16)
        read, index, peak = costs(large, {"blob": BLOB, "count": "16"})
        size = os.path.getsize(large)
        print(f"16 ranges of {size >> 20} MiB of gzip: {read / size:.3f} times as much is read,", end=" ")
        print(f"and {index >> 20} MiB of index; a process needs {peak:.1f} MiB", flush=True)
        assert read / size <= 1.05 and peak <= 32
        times = {"text": [], "blob": []}
        for _ in range(3):
            for name in times:
                reader = spark.read.format(name)
                if name == "blob":
                    reader = reader.option("blob", BLOB).option("count", "16")
                start = time.monotonic()
                found = digest(reader.load(large))
                times[name].append(time.monotonic() - start)
                assert found[0] == text.count(b"\n") * (MEBIBYTES // 16), found
        text_time, blob_time = (statistics.median(times[name]) for name in ("text", "blob"))
        print(f"{MEBIBYTES} MiB: Spark's own reader {text_time:.1f} s, 16 ranges {blob_time:.1f} s,", end=" ")
        print(f"{text_time / blob_time:.2f} times as fast")
        spark.stop()


main()
