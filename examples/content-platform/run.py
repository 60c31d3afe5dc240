"""Starts the accounts of a layout and stops them with Ctrl-C: `python run.py two-accounts`."""

import argparse
import asyncio
import os
import signal
import threading
from pathlib import Path

from content_platform import LAYOUTS, create_containers, start

DEPLOYMENT = Path(__file__).parent / "deployment.json"


def describe(deployment):
    """A line for each region of each account, as the README draws them."""
    for account in deployment.accounts:
        for number, (region, endpoint) in enumerate(account.endpoints.items()):
            role = "writes" if number == 0 or account.multi_write else "reads"
            yield f"{account.name:8}{region:16}{role:8}{endpoint}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("layout", choices=LAYOUTS)
    arguments.add_argument(
        "--orrery", default=os.environ.get("ORRERY_BIN", "orrery"), help="the server"
    )
    arguments.add_argument(
        "--deployment", type=Path, default=DEPLOYMENT, help="file that tells others"
    )
    chosen = arguments.parse_args()
    stop = threading.Event()
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, lambda *_: stop.set())
    with start(LAYOUTS[chosen.layout], chosen.orrery) as deployment:
        asyncio.run(create_containers(deployment))
        deployment.save(chosen.deployment)
        try:
            print(*describe(deployment), "ready", sep="\n", flush=True)
            stop.wait()
        finally:
            chosen.deployment.unlink()


if __name__ == "__main__":
    main()
