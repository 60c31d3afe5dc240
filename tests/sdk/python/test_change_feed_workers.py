"""Two processes share a change feed; one is killed, the container splits, nothing is missed."""

import subprocess
import sys
import time
from pathlib import Path

from azure.cosmos import PartitionKey

from changes import split

WORKER = Path(__file__).with_name("feed_worker.py")
SECONDS_MAX = 60


def start_worker(server, database, name):
    command = [sys.executable, str(WORKER), server.endpoint, server.key, database.id, name]
    return subprocess.Popen(command)


def until(condition, what):
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def test_two_workers_and_a_kill(server, new_database):
    database = new_database()
    source = database.create_container("source", PartitionKey("/pk"), offer_throughput=18000)
    leases = database.create_container("leases", PartitionKey("/id"))
    seen = database.create_container("seen", PartitionKey("/id"))
    for number, part in enumerate(source.read_feed_ranges()):
        leases.create_item(
            {"id": str(number), "range": part, "owner": "", "until": 0, "continuation": None}
        )

    def write(version, numbers=range(40)):
        for n in numbers:
            source.upsert_item({"id": f"i{n}", "pk": f"k{n % 20}", "version": version})

    def owners():
        return {row["owner"] for row in leases.read_all_items() if row["until"] > time.time()}

    def seen_of(version):
        return {row["id"] for row in seen.read_all_items() if row["id"].endswith(f"-{version}")}

    def both_have_read():
        """One that was stopped for long has lost its leases for a while, and there is nothing left to read for it."""
        by = {row["owner"] for row in seen.read_all_items()}
        if by != {"one", "two"}:
            write(0)
        return by == {"one", "two"}

    workers = {name: start_worker(server, database, name) for name in ("one", "two")}
    try:
        until(lambda: owners() == {"one", "two"}, "the workers did not share the leases")
        write(0)
        until(lambda: len(seen_of(0)) == 40, "the first versions were not all seen")
        until(both_have_read, "one worker did all the work")

        write(1, range(20))
        workers["one"].kill()
        workers["one"].wait()
        write(1, range(20, 40))
        until(lambda: len(seen_of(1)) == 40, "the survivor did not take over")
        until(lambda: owners() == {"two"}, "the survivor did not keep the leases")

        split(server, source, throughput=50000, partitions=5)
        write(2)
        until(lambda: len(seen_of(2)) == 40, "changes were lost in the split")
        assert workers["two"].poll() is None
    finally:
        for worker in workers.values():
            worker.kill()
            worker.wait()
