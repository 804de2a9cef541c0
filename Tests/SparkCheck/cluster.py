"""The bulk job of Examples/Spark on a Spark cluster that is hurt: python3 cluster.py BLOB. Needs pyspark and Java.

A standalone cluster of two workers, on 127.0.0.2 and 127.0.0.3, stores 10,000 blobs from a web server in a store: that of
objects.py, or with --store one with the interface of S3 that the variables of AWS's tools tell, where blobs that are longer
than 5 MiB are stored in parts. Meanwhile
executors and processes `blob` are killed, at moments that the number of stored objects sets, and all processes of one
worker are stopped once, with speculation on. In the end each object must be there with the right digest, and have one line
of the report. A second job, with sources that are not there or change, must say which.
"""

import argparse
import collections
import glob
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.join(HERE, "..", "..", "Examples", "Spark", "blob_spark.py")
sys.path.insert(0, os.path.dirname(MODULE))
import blob_spark
import objects
import pyspark

parser = argparse.ArgumentParser()
parser.add_argument("blob", type=os.path.abspath)
parser.add_argument("--blobs", type=int, default=10_000)
parser.add_argument("--bytes", type=int, default=300_000_000)
parser.add_argument("--kills", type=int, default=10)
parser.add_argument("--delay", type=float, default=0.03, help="seconds of each PUT, so that kills hit uploads")
parser.add_argument("--store", help="s3://BUCKET/PREFIX/ (needs botocore)")
parser.add_argument("--seed", type=int, default=int(time.time()))
options = parser.parse_args()
choice = random.Random(options.seed)
PART = 5 << 20
LIMIT = 1200  # The seconds that a job may take.
HANG = 240  # The seconds after which Spark gives up a machine that does not answer.
SPARK = os.path.dirname(pyspark.__file__)
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
started = []


def processes():
    """The parent and the command of each process."""
    found = {}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/stat") as stat, open(path + "/cmdline", "rb") as line:
                parent = int(stat.read().rpartition(")")[2].split()[1])
                found[int(path[6:])] = parent, line.read().decode(errors="replace").split("\0")
        except (OSError, ValueError, IndexError):
            pass
    return found


def family(process):
    """A process that was started here and what descends from it, with their commands."""
    every = processes()
    found = {process.pid: every[process.pid][1]} if process.pid in every else {}
    while more := {one: command for one, (parent, command) in every.items() if parent in found and one not in found}:
        found.update(more)
    return found


def start(command, host="127.0.0.1", **others):
    environment = {
        **os.environ, "SPARK_LOCAL_IP": host, "SPARK_LOCAL_HOSTNAME": host, "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_MASTER_OPTS": f"-Dspark.master.rest.enabled=false -Dspark.worker.timeout={HANG}",
        "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": SPARK,
        "XDG_CACHE_HOME": folder + "/caches",
    }
    started.append(subprocess.Popen(command, env=environment, text=True, **others))
    return started[-1]


def end_all():
    for process in started:
        for one in family(process):
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()


def ask(name):
    with urllib.request.urlopen(f"{server}/{name}", timeout=60) as answer:
        return json.load(answer)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start_cluster():
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    spark_class = [SPARK + "/bin/spark-class"]
    log = open(folder + "/cluster.log", "w")
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    start(spark_class + master, stdout=log, stderr=log)
    workers = []
    for host in ["127.0.0.2", "127.0.0.3"]:
        worker = ["org.apache.spark.deploy.worker.Worker", "--host", host, "--webui-port", "0", "--cores", "2"]
        worker += ["--memory", "1g", "--work-dir", f"{folder}/{host}", url]
        workers.append(start(spark_class + worker, host, stdout=log, stderr=log))
    return url, workers


def start_job(master, manifest, target, report):
    settings = {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "512m",
        "spark.ui.enabled": "false", "spark.executor.memory": "512m", "spark.local.dir": folder + "/local",
        "spark.task.maxFailures": "20", "spark.speculation": "true", "spark.cores.max": "4",
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": folder + "/events",
        "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
        # Nothing but speculation helps against the stopped worker: a machine that hangs is not lost for as long as this.
        "spark.network.timeout": f"{HANG}s", "spark.rpc.askTimeout": "60s",
        # A new executor asks the stopped one for the broadcast of the job first.
        "spark.shuffle.io.connectionTimeout": "10s", "spark.shuffle.io.maxRetries": "1",
        # All executors before the first task, as in a cluster that is not still starting.
        "spark.scheduler.minRegisteredResourcesRatio": "1", "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    command = [SPARK + "/bin/spark-submit", "--master", master]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += [MODULE, manifest, target, report, "--blob", options.blob, "--put=--retry 3", f"--part-size={PART}"]
    return start(command, stdout=subprocess.PIPE, stderr=open(report + ".log", "w"))


def hurt(job, workers):
    """Kills and stops until the job has ended, and returns what was done and the worker that was stopped."""
    kinds = ["executor", "blob"] * (options.kills // 2) + ["executor"] * (options.kills % 2) + ["worker"]
    choice.shuffle(kinds)
    moments = sorted(choice.sample(range(options.blobs // 50, options.blobs * 9 // 10), len(kinds)))
    done, stopped = [], None
    for moment, kind in zip(moments, kinds):
        # Each stored object, or in a store that tells no number, each source that was read.
        while (count := ask(f"{'reads' if options.store else 'count'}/{moment}")) < moment and job.poll() is None:
            pass
        if kind == "worker":
            stopped = choice.choice(workers)
            for one in family(stopped):
                os.kill(one, signal.SIGSTOP)
            done.append(f"{count}: a worker stopped")
            continue
        while job.poll() is None:
            found = [
                one for worker in workers if worker is not stopped for one, command in family(worker).items()
                if (EXECUTOR in command if kind == "executor" else command[:2] == [options.blob, "job"])
            ]
            if found:
                try:
                    os.kill(choice.choice(found), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                done.append(f"{count}: {kind}")
                break
    return done, stopped


def wait_for(job, report):
    output, _ = job.communicate(timeout=LIMIT)
    if job.returncode not in (0, 1):
        with open(report + ".log") as log:
            sys.exit(f"spark-submit ended with {job.returncode}: {log.read()[-3000:]}")
    return job.returncode, json.loads(output.splitlines()[-1])


def read(report):
    """The lines of each task that has any."""
    assert os.path.exists(report + "/_SUCCESS"), "the report was not committed"
    tasks = [[json.loads(line) for line in open(path)] for path in sorted(glob.glob(report + "/part-*"))]
    return [task for task in tasks if task]


def stored_in_s3():
    """The digest and the bytes of each object of the store."""
    import botocore.session
    from botocore.config import Config

    client = botocore.session.get_session().create_client("s3", config=Config(s3={"addressing_style": "path"}))
    bucket, _, prefix = options.store.removeprefix("s3://").partition("/")
    left = client.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    assert not left, f"parts are left: {left}"
    found = {}
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for one in page.get("Contents", []):
            body = client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
            found[one["Key"].removeprefix(prefix)] = [hashlib.sha256(body).hexdigest(), len(body)]
    return found


def write_manifest(path, sizes):
    with open(path, "w") as file:
        file.writelines(f"{locator}\t{size}\n" for locator, size in sizes.items())


def print_events():
    """What Spark itself counted."""
    counts = collections.Counter()
    for path in glob.glob(folder + "/events/**/*", recursive=True):
        for line in open(path) if os.path.isfile(path) else []:
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                speculative = " (speculative)" if event["Task Info"]["Speculative"] else ""
                counts[event["Task End Reason"]["Reason"] + speculative] += 1
            elif event["Event"] == "SparkListenerExecutorRemoved":
                counts["executors removed"] += 1
    print("Spark counted:", dict(counts), flush=True)


def damaged_job(master, workers):
    seed, total = options.seed, options.bytes
    locators = [f"{server}/source/{one}" for one in range(options.blobs)]
    sizes = dict(zip(locators, objects.sizes(seed, options.blobs, total)))
    manifest, report = folder + "/manifest", folder + "/report"
    write_manifest(manifest, sizes)
    begin = time.monotonic()
    job = start_job(master, manifest, target, report)
    done, stopped = hurt(job, workers)
    status, counts = wait_for(job, report)
    seconds = time.monotonic() - begin
    print(f"hurt at {', '.join(done)}", flush=True)
    assert len(done) == options.kills + 1, "the job ended before everything was done to it"
    tasks, state = read(report), ask("state")
    lines = [line for task in tasks for line in task]
    if options.store:
        state["objects"], tasks = stored_in_s3(), read(report + ".parts")
    digests = {}
    for number, (locator, size) in enumerate(sizes.items()):
        digests[locator] = hashlib.sha256(objects.content(seed, number, size)).hexdigest()
    assert status == 0 and set(counts) <= {"stored", "exists"} and sum(counts.values()) == len(sizes), counts
    assert len(lines) == len(sizes) and {line["locator"] for line in lines} == set(sizes), "the report has other blobs"
    for line in lines:
        locator = line["locator"]
        key = line["url"].rpartition("/")[2]
        assert key == hashlib.sha256(locator.encode()).hexdigest(), line
        assert line["bytes"] == sizes[locator] and line.get("sha256", digests[locator]) == digests[locator], line
        assert state["objects"][key][:2] == [digests[locator], sizes[locator]], line
    assert len(state["objects"]) == len(sizes) and state["conflicts"] == 0, "the store has other objects"
    stored = sum(one[1] for one in state["objects"].values())
    assert stored == sum(line["bytes"] for line in lines) == sum(sizes.values())
    weights = [sum(line["bytes"] + blob_spark.ALLOWANCE for line in task) for task in tasks]
    balance = max(weights) * len(weights) / sum(weights)
    # A blob that is not divided may be the whole of the heaviest task.
    largest = 0 if options.store else max(sizes.values()) + blob_spark.ALLOWANCE
    assert balance <= 1.1 or max(weights) == largest, balance
    print(f"{len(lines)} lines, {len(state['objects'])} objects, {stored} bytes, each with its digest: {counts}")
    if options.store:
        parts = collections.Counter(line["locator"] for task in tasks for line in task if "part" in line)
        print(f"{len(parts)} objects are of {sum(parts.values())} parts")
    else:
        puts = sum(one[2] for one in state["objects"].values())
        repeats = f"{puts - len(sizes)} of them repeats of {state['repeated_bytes']} bytes; {state['cut']} cut off"
        print(f"{puts} PUTs were whole, {repeats}; {counts.get('exists', 0)} objects were found again")
    print(f"{len(tasks)} tasks, the heaviest {balance:.3f} times the mean; {seconds:.0f} s", flush=True)
    print_events()
    return stopped


def job_of_missing_sources(master):
    there = [f"{server}/source/{one}" for one in range(40)]
    wrong = {f"{server}/nothing/{one}": "notFound" for one in range(3)}
    sizes = {one: 0 for one in [*there, *wrong]}
    if options.store:
        # One that is divided, and is another one when its parts are read.
        counts = objects.sizes(options.seed, options.blobs, options.bytes)
        changing = f"{server}/changing/{counts.index(max(counts))}"
        sizes[changing], wrong[changing] = max(counts), "changed"
    manifest, report = folder + "/missing", folder + "/missing-report"
    write_manifest(manifest, sizes)
    status, counts = wait_for(start_job(master, manifest, target, report), report)
    assert (status, counts) == (1, {"exists": 40, "failed": len(wrong)}), (status, counts)
    lines = [line for task in read(report) for line in task]
    failed = {line["locator"]: line["error"]["code"] for line in lines if line["state"] == "failed"}
    assert failed == wrong, failed
    if options.store:
        stored_in_s3()
    print(f"{len(wrong)} of {len(sizes)} sources are missing or change: their lines say so, and the status is 1", flush=True)


def main():
    master, workers = start_cluster()
    stopped = damaged_job(master, workers)
    if stopped:
        for one in family(stopped):
            os.kill(one, signal.SIGCONT)
    job_of_missing_sources(master)


print(f"seed {options.seed}", flush=True)
# So that what was started is ended too.
for number in [signal.SIGTERM, signal.SIGHUP]:
    signal.signal(number, lambda *_: sys.exit("ended by a signal"))
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    os.mkdir(folder + "/events")
    try:
        arguments = [str(one) for one in (options.seed, options.blobs, options.bytes, options.delay)]
        source = start(
            [sys.executable, HERE + "/objects.py", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        server = f"http://127.0.0.1:{int(source.stdout.readline())}"
        target = options.store or server + "/objects/"
        main()
        puts = [command for _, command in processes().values() if command[:2] == [options.blob, "job"]]
        left = [command for command in puts if command[2] == target]
        assert not left, "processes of killed workers are left"
    finally:
        end_all()
