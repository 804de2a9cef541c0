"""Lines of any blob as rows of a Spark data frame, also of one large .gz, by all cores:

    import blob_spark
    blob_spark.register(spark)
    lines = spark.read.format("blob").load("gzip+s3://bucket/events.json.gz")    # one column: value

Each partition is a range that `blob index splits` prints, and is read by a process `blob cat --records lines`: the lines
that begin in the range, so that no line is lost or read twice. A task whose process fails has failed, and Spark runs it
again; nothing of half a range counts.

Options: blob (the command), count or bytes (of the ranges), index (a file made by `blob index build --output`, under the
same path on every machine, or sent there by `spark.sparkContext.addFile`), encoding (default: utf-8; what is not valid
becomes U+FFFD).
"""

import codecs
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile

CHUNK = 4 << 20  # The bytes of a batch of rows; more for a longer line.


def splits(locator, options):
    """Returns the ranges of a locator as `blob index splits` has them, as arguments of `blob cat`."""
    size = ["--bytes", options["bytes"]] if "bytes" in options else []
    size = ["--count", options["count"]] if "count" in options else size
    command = [options.get("blob", "blob"), "index", "splits", "--records", "lines", *size, *index(options), "--", locator]
    found = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if found.returncode != 0:
        raise RuntimeError(found.stderr.strip() or f"{command[0]} ended with {found.returncode}")
    ranges = [json.loads(line) for line in found.stdout.splitlines()]
    return [
        ["--offset", str(one["offset"]), "--length", str(one["length"]), "--", one["locator"]] for one in ranges
    ]


def chunks(arguments, options):
    """Yields the bytes of a range, cut behind lines; raises when the range is not whole."""
    command = [options.get("blob", "blob"), "cat", "--records", "lines", *index(options), *arguments]
    errors = tempfile.TemporaryFile()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, preexec_fn=end_with_parent
    )
    try:
        parts = []
        while data := process.stdout.read(CHUNK):
            end = data.rfind(b"\n") + 1
            if end > 0:
                yield b"".join([*parts, data[:end]])
                parts = []
            if end < len(data):
                parts.append(data[end:])
        # Before the last line, which a process that was killed may have cut off.
        if process.wait() != 0:
            errors.seek(0)
            message = errors.read().decode(errors="replace").strip()
            raise RuntimeError(message or f"{command[0]} ended with {process.returncode}")
        if parts:
            yield b"".join(parts)
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
    if not chunk.endswith(b"\n"):
        chunk += b"\n"
    ends = numpy.flatnonzero(numpy.frombuffer(chunk, numpy.uint8) == ord("\n")) + 1
    offsets = pyarrow.py_buffer(numpy.concatenate(([0], ends)).astype(numpy.int64))
    rows = pyarrow.LargeBinaryArray.from_buffers(
        pyarrow.large_binary(), len(ends), [None, offsets, pyarrow.py_buffer(chunk)]
    )
    rows = pyarrow.compute.binary_slice(rows, 0, -1)
    if b"\r\n" in chunk:
        returns = pyarrow.compute.equal(pyarrow.compute.binary_slice(rows, -1), b"\r")
        rows = pyarrow.compute.if_else(returns, pyarrow.compute.binary_slice(rows, 0, -1), rows)
    try:
        return rows.cast(pyarrow.string())
    except pyarrow.ArrowInvalid:
        return lines(chunk.decode(errors="replace").encode())


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
    from pyspark import cloudpickle
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Lines(DataSourceReader):
        def __init__(self, options):
            self.options = dict(options)
            encoding = self.options.get("encoding", "utf-8")
            if "\n".encode(encoding) != b"\n":
                raise ValueError(f"lines in {encoding} cannot be cut at bytes")

        def partitions(self):
            return [InputPartition(one) for one in splits(self.options["path"], self.options)]

        def read(self, partition):
            import pyarrow

            for chunk in chunks(partition.value, self.options):
                rows = lines(chunk, self.options.get("encoding", "utf-8"))
                yield pyarrow.RecordBatch.from_arrays([rows], names=["value"])

    class Blob(DataSource):
        @classmethod
        def name(cls):
            return "blob"

        def schema(self):
            return "value string"

        def reader(self, schema):
            return Lines(self.options)

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark.dataSource.register(Blob)
