"""Blobs with Spark, by the command `blob`, which is on the PATH of every machine, or where the option `blob` says.

Lines of any blob as rows of a data frame, also of one large .gz, by all cores:

    import blob_spark
    blob_spark.register(spark)
    lines = spark.read.format("blob").load("gzip+s3://bucket/events.json.gz")    # one column: value

Each partition is a range that `blob job splits` prints, and is read by a process `blob cat --records lines`: the lines
that begin in the range, so that no line is lost or read twice. A task whose process fails has failed, and Spark runs it
again; nothing of half a range counts.

Options: blob (the command), count or bytes (of the ranges), index (a file made by `blob index build --output`, under the
same path on every machine, or sent there by `spark.sparkContext.addFile`), encoding (default: utf-8; what is not valid
becomes U+FFFD). With the option rows, rows have the columns path, offset and bytes instead, where bytes are those of the
blob `path` from `offset`: `ranges` are ranges as they are, and `members` the files in an archive, each whole. A row is
read into memory.

Many blobs into one place, from a manifest with a locator, a tab and its bytes a line (without them, the blob counts as
small):

    counts = blob_spark.copy(spark, "s3a://bucket/manifest.tsv", "s3://bucket/job/", "s3a://bucket/report")
    spark-submit blob_spark.py MANIFEST TARGET REPORT [--tasks N] [--part-size BYTES] [--put='OPTIONS OF blob job put']

Each task is a process `blob job put`, whose keys are made of the locators, so that a task that Spark runs again stores the
same objects. The report has one line of JSON a blob, also of one that failed, and Spark commits it once for each task.
In an S3 store, blobs that are longer than a part are dealt by their parts, which are put together when all are there;
the folder REPORT.parts then has a line a part.

Or of a data frame with a column locator, as it is partitioned; the report is then a file of the driver, and the job
fails if a blob has failed:

    frame.write.format("blob").option("report", "report.jsonl").mode("append").save("s3://bucket/job/")
"""

import argparse
import codecs
import collections
import concurrent.futures
import contextlib
import ctypes
import hashlib
import heapq
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile

CHUNK = 4 << 20  # The bytes of a batch of rows; more for a longer line.
ALLOWANCE = 64 << 10  # The bytes that take as long as the requests for one blob.
TASK = 100  # The blobs of a task, at most about: what a kill repeats.
PART = 16 << 20  # The bytes of a part, as `blob job put` has them.
BEGINS = 8  # The processes that begin to store blobs in parts at once.


def splits(locator, options, records=("--records", "lines")):
    """Returns the ranges of a locator as `blob job splits` has them, as arguments of `blob cat`."""
    size = ["--bytes", options["bytes"]] if "bytes" in options else []
    size = ["--count", options["count"]] if "count" in options else size
    ranges = table([options.get("blob", "blob"), "job", "splits", *records, *size, *index(options), "--", locator])
    ends = [["--length", str(one["length"])] for one in ranges]
    # The last range is read to the end of the blob, so that its checksum is compared, even if the data has changed
    # since.
    ends[-1] = []
    return [
        ["--offset", str(one["offset"]), *end, "--", one["locator"]] for one, end in zip(ranges, ends)
    ]


def members(locator, options):
    """Returns tasks of files in an archive, as locators: by their names, or their numbers if names are not unique."""
    found = table([options.get("blob", "blob"), "ls", "--json", *index(options), "--", locator])
    names = collections.Counter(one["name"] for one in found)
    sizes = {}
    for one in found:
        if one["kind"] in ("file", "hardLink"):
            selector = one["name"] if names[one["name"]] == 1 else f"@{one['member_index']}"
            sizes[locator + ("!/" if "#" in locator else "#") + selector] = one.get("byte_count", 0)
    return bins(sizes, int(options.get("count", 32)))


def table(command):
    """Returns the lines of JSON that a command prints."""
    with started(command) as (output, end):
        lines = output.read().splitlines()
        end(0)
        return [json.loads(line) for line in lines]


def whole(arguments, options):
    """Returns what `blob cat` prints; raises when that is not everything."""
    with started([options.get("blob", "blob"), "cat", *index(options), *arguments]) as (output, end):
        found = output.read()
        end(0)
        return found


def chunks(arguments, options):
    """Yields the bytes of a range, cut behind lines; raises when the range is not whole."""
    command = [options.get("blob", "blob"), "cat", "--records", "lines", *index(options), *arguments]
    with started(command) as (output, end):
        parts = []
        while data := output.read(CHUNK):
            cut = data.rfind(b"\n") + 1
            if cut > 0:
                yield b"".join([*parts, data[:cut]])
                parts = []
            if cut < len(data):
                parts.append(data[cut:])
        # Before the last line, which a killed process may have truncated.
        end(0)
        if parts:
            yield b"".join(parts)


@contextlib.contextmanager
def started(command, names=subprocess.DEVNULL):
    """Starts a command, and has its output and a function that waits for its end, which raises at other statuses."""
    errors = tempfile.TemporaryFile()
    process = subprocess.Popen(
        command, stdin=names, stdout=subprocess.PIPE, stderr=errors, preexec_fn=end_with_parent
    )

    def end(*statuses):
        if process.wait() not in statuses:
            errors.seek(0)
            message = errors.read().decode(errors="replace").strip()
            raise RuntimeError(message or f"{command[0]} ended with status {process.returncode}")

    try:
        yield process.stdout, end
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        errors.close()


def end_with_parent():
    """Lets the system end the process when its worker is killed, on Linux (prctl(2), PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def lines(chunk, encoding="utf-8"):
    """Returns the lines of a chunk without their ends, LF or CRLF, as an Arrow array."""
    import numpy
    import pyarrow
    import pyarrow.compute

    if codecs.lookup(encoding).name != "utf-8":
        chunk = chunk.decode(encoding, errors="replace").encode()
    elif not chunk.isascii():
        chunk = chunk.decode(errors="replace").encode()
    if not chunk.endswith(b"\n"):
        chunk += b"\n"
    if len(chunk) >= 1 << 31:
        raise ValueError("a line of 2 GiB or more does not fit in a column")
    text = numpy.frombuffer(chunk, numpy.uint8)
    ends = numpy.flatnonzero(text == ord("\n"))
    offsets = numpy.zeros(len(ends) + 1, numpy.int32)
    offsets[1:] = ends + 1
    rows = pyarrow.StringArray.from_buffers(len(ends), pyarrow.py_buffer(offsets), pyarrow.py_buffer(chunk))
    returns = [text[numpy.maximum(ends - place, 0)] == ord("\r") for place in (1, 2)]
    if not (returns[0] & returns[1]).any():
        return pyarrow.compute.ascii_rtrim(rows, characters="\r\n")
    # Of several CRs, one belongs to the line ending.
    return pyarrow.compute.replace_substring_regex(rows, "\r?\n$", "")


def index(options):
    """Returns the arguments that name the index: where the option says, or where Spark put it."""
    if "index" not in options:
        return []
    path = options["index"]
    if not os.path.exists(path):
        from pyspark import SparkFiles

        path = SparkFiles.get(os.path.basename(path))
    return ["--index", path]


def register(spark):
    """Registers the format `blob` with a session; executors need this module no other way."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition, WriterCommitMessage

    class Lines(DataSourceReader):
        def __init__(self, options):
            self.options = dict(options)
            encoding = self.options.get("encoding", "utf-8")
            if "\n".encode(encoding) != b"\n":
                raise ValueError(f"text in {encoding} cannot be split into lines: a newline must be the byte 0x0A")

        def partitions(self):
            return [InputPartition(one) for one in splits(self.options["path"], self.options)]

        def read(self, partition):
            import pyarrow

            for chunk in chunks(partition.value, self.options):
                rows = lines(chunk, self.options.get("encoding", "utf-8"))
                yield pyarrow.RecordBatch.from_arrays([rows], names=["value"])

    class Ranges(DataSourceReader):
        def __init__(self, options):
            self.options = dict(options)

        def partitions(self):
            return [InputPartition(one) for one in splits(self.options["path"], self.options, ())]

        def read(self, partition):
            arguments = partition.value
            yield arguments[-1], int(arguments[1]), whole(arguments, self.options)

    class Members(Ranges):
        def partitions(self):
            return [InputPartition(one) for one in members(self.options["path"], self.options)]

        def read(self, partition):
            for path in partition.value:
                yield path, 0, whole(["--", path], self.options)

    class Message(WriterCommitMessage):
        def __init__(self, lines):
            self.lines = lines

    class Store(DataSourceWriter):
        def __init__(self, schema, options):
            self.options = dict(options)
            if "locator" not in schema.names or "report" not in self.options:
                raise ValueError("the column 'locator' and the option 'report' are required")

        def write(self, rows):
            locators = [row["locator"] for row in rows]
            return Message(list(put([locators] if locators else [], self.options["path"], self.options)))

        def commit(self, messages):
            found = [line for message in messages for line in message.lines]
            with open(self.options["report"], "w") as report:
                report.writelines(line + "\n" for line in found)
            failed = sum(json.loads(line)["state"] == "failed" for line in found)
            if failed:
                raise RuntimeError(f"{failed} of {len(found)} blobs failed; see {self.options['report']}")

    class Blob(DataSource):
        kinds = {"lines": Lines, "ranges": Ranges, "members": Members}

        @classmethod
        def name(cls):
            return "blob"

        def schema(self):
            rows = self.options.get("rows", "lines")
            if rows not in self.kinds:
                raise ValueError(f"the option 'rows' must be one of {', '.join(self.kinds)}")
            return "value string" if rows == "lines" else "path string, offset long, bytes binary"

        def reader(self, schema):
            return self.kinds[self.options.get("rows", "lines")](self.options)

        def writer(self, schema, overwrite):
            return Store(schema, self.options)

    ship()
    spark.dataSource.register(Blob)


def ship():
    """Lets Spark send this module to its executors with each task."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def bins(sizes, count):
    """Deals blobs or parts with sizes into at most so many bins: the largest first, each into the lightest bin."""
    lightest = [(0, number) for number in range(count)]
    dealt = [[] for _ in range(count)]
    for one, size in sorted(sizes.items(), key=lambda one: -one[1]):
        weight, number = lightest[0]
        dealt[number].append(one)
        heapq.heapreplace(lightest, (weight + size + ALLOWANCE, number))
    return [one for one in dealt if one]


def storing(step, target, options, *arguments):
    """Returns the command `blob job` for a list in its standard input, the manifest of the job, which may name blobs on
    servers."""
    lists = ["--allow-network-in-lists", "--from-file", "-"]
    command = [options.get("blob", "blob"), "job", step, target, "--json", *lists, *arguments]
    return command + shlex.split(options.get("put", ""))


def listed(entries):
    """Returns a file of lines."""
    names = tempfile.TemporaryFile()
    names.write("".join(f"{one}\n" for one in entries).encode())
    names.seek(0)
    return names


def put(bins, target, options, step="put"):
    """Stores the blobs of bins, or does a step for their parts, and yields the line about each; raises unless each has
    its line."""
    command = storing(step, target, options)
    for entries in bins:
        with listed(entries) as names, started(command, names) as (output, end):
            rest = iter(entries)
            for line in output:
                found, one = json.loads(line), next(rest, None)
                # A locator with a part that may be secret is printed without that part.
                is_its = one is not None and (found["locator"] == name(one) or key(one) in found.get("url", ""))
                if not is_its or found.get("part", number(one)) != number(one):
                    raise RuntimeError(f"{command[0]} printed a line that does not match its next input: {line}")
                yield line.decode().rstrip("\n")
            # Status 1: some have failed; see their lines.
            end(0, 1)
            for one in rest:
                raise RuntimeError(f"{command[0]} printed no line about {name(one)}")


def part(one):
    """Returns what the line of a part says; nothing for a locator."""
    try:
        found = json.loads(one) if one and one.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) and {"locator", "part", "upload", "length"} <= found.keys() else {}


def name(one):
    return part(one).get("locator", one)


def key(one):
    """Returns the key under which a blob is stored."""
    return hashlib.sha256(name(one).encode()).hexdigest()


def number(one):
    return part(one).get("part")


def divided(large, target, options):
    """Begins to store blobs in parts; yields the line of each part, and the locator of a blob that is not divided."""
    command = storing("begin", target, options, "--part-size", str(options.get("part_size", PART)))
    with listed(large) as names, started(command, names) as (output, end):
        for line in output:
            yield line.decode().removesuffix("\n")
        end(0)


def dealt(sizes, target, options, firsts):
    """Returns what is to be stored, with its bytes: blobs, and parts of those that are longer than one.

    Adds one part of each divided blob to `firsts`, at once: they are known when an error ends this.
    """
    size = int(options.get("part_size", PART))
    units, large = {}, []
    for one, count in sizes.items():
        if count > size and target.startswith("s3://"):
            large.append(one)
        else:
            units[one] = count
    if large:
        with concurrent.futures.ThreadPoolExecutor(BEGINS) as pool:
            for found in pool.map(lambda some: begun(some, target, options, firsts), shares(large, BEGINS)):
                units.update((one, part(one).get("length") or sizes[one]) for one in found)
    return units


def begun(large, target, options, firsts):
    found = []
    for one in divided(large, target, options):
        found.append(one)
        if number(one) == 1:
            firsts.append(one)
    return found


def shares(every, count):
    return [one for one in (every[first::count] for first in range(count)) if one]


def entry(line):
    """Returns the locator and the bytes of a line of a manifest."""
    locator, _, size = line.partition("\t")
    return locator, int(size or 0)


def copy(spark, manifest, target, report, options={}):
    """Stores the blobs of a manifest, writes the report, and returns how many blobs have which state."""
    ship()
    context = spark.sparkContext
    sizes = dict(context.textFile(manifest).filter(bool).map(entry).collect())
    firsts = []
    try:
        units = dealt(sizes, target, options, firsts)
        count = int(options.get("tasks", max(8 * context.defaultParallelism, -(-len(units) // TASK))))
        bundles = bins(units, count)
        # Without a shuffle, whose files would be lost with a machine.
        tasks = context.parallelize(bundles, max(1, len(bundles)))
        if firsts:
            # Spark checks this only when the parts are stored.
            path = context._jvm.org.apache.hadoop.fs.Path(report)
            if path.getFileSystem(context._jsc.hadoopConfiguration()).exists(path):
                raise FileExistsError(f"{report} already exists")
            parts = tasks.mapPartitions(lambda bins: put(bins, target, options, "parts"))
            parts.saveAsTextFile(report + ".parts")
            lines = finished(context, report + ".parts", firsts, target, options)
        else:
            lines = tasks.mapPartitions(lambda bins: put(bins, target, options))
        lines.saveAsTextFile(report)
    except BaseException:
        drop(firsts, target, options)
        raise
    # From the report: an accumulator would count repeated tasks twice.
    return dict(context.textFile(report).map(lambda line: json.loads(line)["state"]).countByValue())


def finished(context, parts, firsts, target, options):
    """Returns the lines of all blobs, from those of the parts and of blobs that are not divided."""
    found = context.textFile(parts)
    failed = found.filter(lambda line: "part" in (one := json.loads(line)) and one["state"] == "failed")
    reasons = dict(failed.map(lambda line: (json.loads(line)["url"], json.loads(line)["error"])).collect())

    def explained(line):
        one = json.loads(line)
        if one["state"] == "failed" and one["url"] in reasons:
            one["error"] = reasons[one["url"]]
        return json.dumps(one, ensure_ascii=False, sort_keys=True)

    count = max(context.defaultParallelism, -(-len(firsts) // TASK))
    ends = context.parallelize(shares(firsts, count), min(count, len(firsts)))
    ends = ends.mapPartitions(lambda bins: put(bins, target, options, "finish")).map(explained)
    return found.filter(lambda line: "part" not in json.loads(line)).union(ends)


def drop(firsts, target, options):
    """Removes the parts of a job that has failed, because stored parts cost money."""
    try:
        if firsts:
            collections.deque(put([firsts], target, options, "abort"), 0)
    except Exception as error:
        print(f"parts of {len(firsts)} blobs may be left in the store: {error}", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """A parser of arguments whose errors end with the status of `blob` for them."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


def main():
    parser = Parser(description="Stores the blobs of a manifest; the exit status is 1 if some failed.")
    parser.add_argument("manifest", help="a file with a line for each blob: its locator, a tab, and its size in bytes")
    parser.add_argument("target", help="a URL that ends with '/'")
    parser.add_argument("report", help="a new folder for the report, with one line of JSON for each blob")
    parser.add_argument("--blob", default="blob", help="the blob command to run (default: blob)")
    parser.add_argument("--tasks", help=f"the number of tasks (default: one per {TASK} blobs, and at least 8 per core)")
    parser.add_argument("--part-size", type=int, default=PART, help="the bytes per part in S3 stores, at least 5242880")
    parser.add_argument("--put", default="", help="options for blob job put, as in --put='--max-time 600'")
    options = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("blob").getOrCreate()
    counts = copy(spark, options["manifest"], options["target"], options["report"], options)
    spark.stop()
    print(json.dumps(counts))
    sys.exit(1 if counts.get("failed") else 0)


if __name__ == "__main__":
    main()
