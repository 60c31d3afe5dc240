"""Requests of operators, which no client has a method for."""

import base64
import hashlib
import hmac
import json
import urllib.parse
import urllib.request
from email.utils import formatdate


def operate(server, container, body=None):
    """Reads the physical partitions of a container, or asks for a split or a merge."""
    verb = "GET" if body is None else "POST"
    link = container.container_link.strip("/")
    date = formatdate(usegmt=True)
    text = f"{verb.lower()}\npartitions\n{link}\n{date.lower()}\n\n"
    digest = hmac.new(base64.b64decode(server.key), text.encode(), hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    headers = {
        "x-ms-date": date,
        "x-ms-version": "2020-07-15",
        "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe=""),
        "content-type": "application/json",
    }
    request = urllib.request.Request(
        f"{server.endpoint.rstrip('/')}/_orrery/{link}/partitions",
        data=None if body is None else json.dumps(body).encode(),
        headers=headers,
        method=verb,
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def partition_ids(server, container):
    found = operate(server, container)["partitions"]
    return [row["id"] for row in sorted(found, key=lambda row: row["minInclusive"])]
