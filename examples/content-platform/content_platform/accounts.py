"""Runs the accounts: one server process for each, with all regions of the account in it.

An account has its own data, its own key, and an address for each of its regions. All that others must know
of them is in a file, the deployment.
"""

import base64
import json
import os
import secrets
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

STOP_SECONDS_MAX = 10


@dataclass
class Account:
    name: str
    key: str
    multi_write: bool
    # Region to address. The first region takes the writes, or all do.
    endpoints: dict
    management: dict


@dataclass
class Deployment:
    accounts: list

    def home_of(self, region):
        """The account that an application in this region writes to."""
        for account in self.accounts:
            first, *others = account.endpoints
            if region == first or (len(self.accounts) == 1 and region in others):
                return account
        raise LookupError(f"there is no application in {region}")

    def save(self, path):
        path = Path(path)
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self), indent=2), encoding="utf-8")

    @staticmethod
    def load(path):
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return Deployment([Account(**account) for account in found["accounts"]])


@contextmanager
def start(layout, binary="orrery"):
    """Starts the accounts in memory, and stops them at the end."""
    with ExitStack() as processes:
        accounts = []
        for name, regions in layout.accounts.items():
            accounts.append(
                processes.enter_context(_account(name, regions, layout.multi_write, binary))
            )
        yield Deployment(accounts)


@contextmanager
def _account(name, regions, multi_write, binary):
    key = base64.b64encode(secrets.token_bytes(64)).decode()
    command = [binary, "serve", "--memory", "--tls", "off", "--listen", "127.0.0.1:0"]
    for region in regions:
        command += ["--region", region]
    # The application of a region writes to the region's own account, and nowhere else. An account that
    # chose another write region would take the writes away from the one application that makes them.
    command += ["--multi-write"] if multi_write else ["--service-managed-failover", "off"]
    command += ["--throughput", "off", "--log", "warn", "--ready-json"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "ORRERY_KEY": key},
    )
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"account {name} ended with {process.wait()} before it was ready")
        ready = json.loads(line)
        endpoints = {region["name"]: region["endpoint"] for region in ready["regions"]}
        yield Account(name, key, multi_write, endpoints, ready["management"])
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
