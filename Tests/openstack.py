#!/usr/bin/env python3
"""Starts OpenStack Swift with its interface of S3 on 127.0.0.1, stores objects, runs a command, and stops it.

usage: openstack.py FOLDER COMMAND...   with the Python of a venv that has `swift` and `botocore`

The command finds the store and the credentials in the variables of AWS's tools, and in BLOBSTREAMS_S3 a file: a JSON
array of the locators and the files with their bytes. At SIGUSR1 the store is killed and started again; once it runs, the
pipe with the name in BLOBSTREAMS_S3_STARTS ends. The exit status is that of the command.
"""
import getpass, io, json, os, pathlib, random, shutil, signal, socket, subprocess, sys, zipfile
import botocore.session
from botocore.config import Config
from swift.common.ring import RingBuilder

FOLDER = pathlib.Path(sys.argv[1]).absolute()
KINDS = ("account", "container", "object", "proxy")
KEYS = [
    "plain.bin", "folder/a b.txt", "a+b", "ümläut/日本.txt", "a#b", "a?b", "a%25b", "a&b=c", "it's (1)*!.txt", "a//b",
    "dots/a.b..c", "~tilde", "empty",
]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def configure(ports):
    """Writes the settings of the four servers, for these ports."""
    common = (
        f"swift_dir = {FOLDER}\nbind_ip = 127.0.0.1\nuser = {getpass.getuser()}\nworkers = 0\nlog_level = WARNING\n"
        f"devices = {FOLDER}/devices\nmount_check = false\nfallocate_reserve = 0\n")
    (FOLDER / "devices/d1").mkdir(parents=True)
    (FOLDER / "swift.conf").write_text(
        "[swift-hash]\nswift_hash_path_prefix = blob\nswift_hash_path_suffix = blob\n"
        "[storage-policy:0]\nname = one\ndefault = yes\n")
    for kind in KINDS[:3]:
        (FOLDER / f"{kind}-server.conf").write_text(
            f"[DEFAULT]\n{common}bind_port = {ports[kind]}\n[pipeline:main]\npipeline = {kind}-server\n"
            f"[app:{kind}-server]\nuse = egg:swift#{kind}\n")
        ring = RingBuilder(4, 1, 0)
        ring.add_dev(dict(
            id=0, region=1, zone=1, weight=1, ip="127.0.0.1", port=ports[kind], device="d1",
            replication_ip="127.0.0.1", replication_port=ports[kind], meta=""))
        ring.rebalance()
        ring.get_ring().save(str(FOLDER / f"{kind}.ring.gz"))
    filters = ["catch_errors", "gatekeeper", "healthcheck", "listing_formats", "s3api", "tempauth", "copy", "slo",
               "versioned_writes"]
    settings = {"s3api": "location = us-east-1\n",
                "tempauth": "user_blob_tester = testing .admin\nuser_blob_reader = reading\n"}
    (FOLDER / "proxy-server.conf").write_text(
        f"[DEFAULT]\n{common}bind_port = {ports['proxy']}\n[pipeline:main]\n"
        f"pipeline = {' '.join(filters)} proxy-server\n"
        + "".join(f"[filter:{name}]\nuse = egg:swift#{name}\n{settings.get(name, '')}" for name in filters)
        + "[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n")


def start(ports):
    """Starts the four servers; returns the processes once they all accept connections."""
    programs = pathlib.Path(sys.executable).parent
    processes = [
        subprocess.Popen(
            [str(programs / f"swift-{kind}-server"), str(FOLDER / f"{kind}-server.conf")],
            stdout=open(FOLDER / f"{kind}.log", "ab"), stderr=subprocess.STDOUT,
            env={**os.environ, "EVENTLET_NO_GREENDNS": "yes"})
        for kind in KINDS]
    for kind, process in zip(KINDS, processes):
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", ports[kind])) == 0:
                    break
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            sys.exit(f"A server ended; see {FOLDER}.")
        else:
            sys.exit(f"A server did not start; see {FOLDER}.")
    return processes


def contents():
    """The bytes of the objects by their keys."""
    random.seed(14)
    objects = {key: random.randbytes(random.randint(1, 300_000)) for key in KEYS}
    objects["empty"] = b""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        for number in range(200):
            members.writestr(f"folder/{number}.txt", f"member {number}\n" * 500)
    objects["archive.zip"] = archive.getvalue()
    objects["parts.bin"] = random.randbytes(12 << 20)
    return objects


def store(port, environment):
    """Stores the objects; returns their locators and files."""
    client = botocore.session.get_session().create_client(
        "s3", endpoint_url=environment["AWS_ENDPOINT_URL_S3"], region_name="us-east-1",
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"))
    client.create_bucket(Bucket="bucket")
    rows = []
    for number, (key, body) in enumerate(contents().items()):
        file = FOLDER / f"truth-{number}"
        file.write_bytes(body)
        if key == "parts.bin":
            upload = dict(Bucket="bucket", Key=key)
            upload["UploadId"] = client.create_multipart_upload(**upload)["UploadId"]
            parts = [body[:6 << 20], body[6 << 20:]]
            tags = [client.upload_part(PartNumber=index + 1, Body=part, **upload)["ETag"]
                    for index, part in enumerate(parts)]
            client.complete_multipart_upload(MultipartUpload=dict(
                Parts=[dict(ETag=tag, PartNumber=index + 1) for index, tag in enumerate(tags)]), **upload)
        else:
            client.put_object(Bucket="bucket", Key=key, Body=body)
        encoded = "".join(c if c.isascii() and (c.isalnum() or c in "-._~/+&='()*!") else
                          "".join(f"%{byte:02X}" for byte in c.encode()) for c in key)
        rows.append(dict(locator=f"s3://bucket/{encoded}", file=str(file)))
    return rows


def restart(*_):
    """Kills the servers, as a loss of power would, and starts them again."""
    global processes
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
    processes = start(ports)
    with open(FOLDER / "starts", "w"):
        pass


shutil.rmtree(FOLDER, ignore_errors=True)
ports = {kind: free_port() for kind in KINDS}
configure(ports)
os.mkfifo(FOLDER / "starts")
processes = start(ports)
signal.signal(signal.SIGUSR1, restart)
try:
    environment = dict(
        AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{ports['proxy']}", AWS_ACCESS_KEY_ID="blob:tester",
        AWS_SECRET_ACCESS_KEY="testing", AWS_REGION="us-east-1", BLOBSTREAMS_S3=str(FOLDER / "objects.json"),
        BLOBSTREAMS_S3_STARTS=str(FOLDER / "starts"))
    (FOLDER / "objects.json").write_text(json.dumps(store(ports["proxy"], environment)))
    status = subprocess.run(sys.argv[2:], env={**os.environ, **environment}).returncode
finally:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()
sys.exit(status)
