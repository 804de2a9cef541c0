#!/usr/bin/env python3
"""Prints requests of uploads in parts as botocore signs them, one JSON object a line."""
import base64, datetime, hashlib, json, random
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.utils import percent_encode

random.seed(15)
CHARACTERS = "abcXYZ019-._~/+=&%* "
ENDPOINT = "http://127.0.0.1:8080"

for number in range(50):
    identifier = "".join(random.choice(CHARACTERS) for _ in range(random.randint(1, 40)))
    body = random.randbytes(random.randint(0, 200))
    encoded = percent_encode(identifier, safe="-._~")
    method, parameters = [
        ("POST", [("uploads", "")]), ("PUT", [("partNumber", str(number)), ("uploadId", encoded)]),
        ("GET", [("uploadId", encoded), ("part-number-marker", str(number))]), ("POST", [("uploadId", encoded)]),
        ("DELETE", [("uploadId", encoded)]),
    ][number % 5]
    fields = []
    if method in ("PUT", "POST"):
        fields = [["Content-Type", "text/plain"]]
    if method == "PUT":
        fields.append(["Content-MD5", base64.b64encode(hashlib.md5(body).digest()).decode()])
    elif parameters[0][0] != "uploadId" or method != "POST":
        body = b""
    seconds = random.randint(0, 4_000_000_000)
    keys = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "token" if number % 3 == 0 else None)
    now = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda **_: now
    url = f"{ENDPOINT}/bucket/a%20key?" + "&".join(f"{name}={value}" for name, value in parameters)
    request = AWSRequest(method=method, url=url, headers=dict(fields), data=body)
    botocore.auth.S3SigV4Auth(keys, "s3", "us-east-1").add_auth(request)
    row = dict(
        method=method, parameters=parameters, fields=fields, payloadHash=hashlib.sha256(body).hexdigest(),
        seconds=seconds, token=keys.token, authorization=request.headers["Authorization"])
    print(json.dumps({name: value for name, value in row.items() if value is not None}))
