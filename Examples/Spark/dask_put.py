"""Stores the blobs of a manifest by a Dask cluster."""

import sys

USAGE = "usage: dask_put.py SCHEDULER MANIFEST TARGET REPORT [BLOB]"

if __name__ == "__main__":
    if not 5 <= len(sys.argv) <= 6:
        print(USAGE, file=sys.stderr)
        sys.exit(64)
    from dask.distributed import Client, as_completed

    import blob_spark

    scheduler, manifest, target, report, blob = (sys.argv[1:] + ["blob"])[:5]
    client = Client(scheduler)
    client.upload_file(blob_spark.__file__)
    with open(manifest) as file:
        sizes = dict(blob_spark.entry(line.rstrip("\n")) for line in file)
    dealt = blob_spark.bins(sizes, max(1, len(sizes) // blob_spark.TASK))
    tasks = client.map(lambda one: list(blob_spark.put([one], target, {"blob": blob})), dealt, retries=8)
    with open(report, "w") as file:
        for done in as_completed(tasks):
            file.writelines(line + "\n" for line in done.result())
