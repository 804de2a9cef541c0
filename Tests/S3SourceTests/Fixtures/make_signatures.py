#!/usr/bin/env python3
"""Prints requests for random objects of S3 as botocore signs them, one JSON object a line."""
import datetime, json, random
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.utils import percent_encode

random.seed(14)
CHARACTERS = list("abcXYZ019-._~/ +#?%&=*!'()@:;,$[]{}|\\^`\"<>") + ["//", "/./", "/../", "ä", "日", "😀", "e\u0301"]
SECRET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def text(characters, least, most):
    return "".join(random.choice(characters) for _ in range(random.randint(least, most)))


for number in range(100):
    key = text(CHARACTERS, 1, 24)
    endpoint = [None, "http://127.0.0.1:8080", "https://store.example/base"][number % 3]
    region = random.choice(["us-east-1", "eu-central-1", "cn-north-1"])
    bucket = random.choice(["examplebucket", "my-bucket-1", "with.dots"])
    version = text(CHARACTERS[:20], 1, 9) if number % 4 == 0 else None
    token = text(SECRET, 20, 40) if number % 5 == 0 else None
    seconds = random.randint(0, 4_000_000_000)
    keys = Credentials("AKIA" + text("ABCDEFG234567", 16, 16), text(SECRET, 40, 40), token)
    path = percent_encode(key, safe="-._~/")
    domain = "amazonaws.com" + (".cn" if region.startswith("cn-") else "")
    if endpoint:
        url = f"{endpoint}/{bucket}/{path}"
    elif "." in bucket:
        url = f"https://s3.{region}.{domain}/{bucket}/{path}"
    else:
        url = f"https://{bucket}.s3.{region}.{domain}/{path}"
    if version:
        url += "?versionId=" + percent_encode(version, safe="-._~")
    now = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda **_: now
    request = AWSRequest(method="GET", url=url)
    botocore.auth.S3SigV4Auth(keys, "s3", region).add_auth(request)
    row = dict(
        bucket=bucket, key=key, endpoint=endpoint, region=region, version=version, token=token, seconds=seconds,
        identifier=keys.access_key, secret=keys.secret_key, url=url, authorization=request.headers["Authorization"])
    print(json.dumps({name: value for name, value in row.items() if value is not None}))
