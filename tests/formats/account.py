"""A running server of any version, and signed requests to it."""

import atexit
import base64
import hashlib
import hmac
import http.client
import json
import subprocess
import time
import urllib.parse
from email.utils import formatdate
from pathlib import Path

WAIT_SECONDS_MAX = 60


class Account:
    """A server on a data directory, until it is stopped or killed, or the writer ends."""

    def __init__(self, program, data, arguments=()):
        command = [program, "serve", "--data", str(data), "--listen", "127.0.0.1:0", "--tls", "off"]
        command += ["--throughput", "off", "--ready-json", "--log", "info", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        self.ready = json.loads(self.process.stdout.readline())
        self.endpoints = {None: self.ready["endpoint"]}
        for region in self.ready.get("regions") or []:
            self.endpoints[region["name"]] = region["endpoint"]

    def stop(self):
        """Asks politely, so that the server leaves everything in order."""
        self.process.terminate()
        assert self.process.wait(WAIT_SECONDS_MAX) == 0

    def kill(self):
        self.process.kill()
        self.process.wait(WAIT_SECONDS_MAX)

    def send(self, request):
        """Sends a request as `expected.json` has it; gives the status, the headers and the body."""
        date = formatdate(usegmt=True)
        text = "\n".join([request["method"].lower(), request["resource"], request["link"], date.lower(), "", ""])
        key = base64.b64decode(self.ready["key"])
        digest = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
        headers = {
            "x-ms-date": date,
            "x-ms-version": "2020-07-15",
            "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={digest}", safe=""),
            **request.get("headers", {}),
        }
        body = request.get("body", "").encode()
        return _exchange(self.endpoints[request.get("region")], request["method"], request["path"], headers, body)

    def order(self, method, path, body=None):
        """An order of an operator to an account with regions."""
        management = self.ready["management"]
        key = management.get("key") or Path(management["keyFile"]).read_text().strip()
        text = b"" if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {key}"}
        status, _, answer = _exchange(management["endpoint"], method, path, headers, text)
        assert status < 300, (path, status, answer)
        return json.loads(answer)


def wait_until(holds):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def _exchange(endpoint, method, path, headers, body):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(endpoint).netloc, timeout=WAIT_SECONDS_MAX)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    connection.close()
    return found
