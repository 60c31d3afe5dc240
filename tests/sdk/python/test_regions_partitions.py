"""Partitions that split and merge in an account in which every region writes."""

import functools
import threading
import urllib.error
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosResourceNotFoundError

from changes import changes, ids
from operators import operate, partition_ids
from regions import NORTH, WEST, Account, wait_until

KEYS = 12


@pytest.fixture(scope="module")
def account():
    started = Account(WEST, NORTH, multi_write=True)
    with started.client() as client:
        database = client.create_database("db")
        database.create_container("c", PartitionKey("/pk"), offer_throughput=400)
    yield started
    started.stop()


@contextmanager
def both(account):
    """The container as each region has it, through clients that write there."""
    options = {"multiple_write_locations": True}
    with (
        account.container(WEST, NORTH, **options) as west,
        account.container(NORTH, WEST, at=NORTH, **options) as north,
    ):
        yield west, north


def operators_of(account, region):
    return SimpleNamespace(endpoint=account.endpoint(region), key=account.key)


def has(container, name, key):
    try:
        container.read_item(name, key)
        return True
    except CosmosResourceNotFoundError:
        return False


def has_all(container, written):
    rows = container.query_items("SELECT c.id, c.n FROM c", enable_cross_partition_query=True)
    return {row["id"]: row["n"] for row in rows} == written


def is_cut(region, container, expected):
    """Whether the region has heard of the container, and of this cut."""
    try:
        return partition_ids(region, container) == expected
    except urllib.error.HTTPError as error:
        assert error.code == 404
        return False


def is_counted(region, container):
    return all(row["counted"] for row in operate(region, container)["partitions"])


class Writer(threading.Thread):
    """Writes in one region, reads it back there, and follows the changes there."""

    def __init__(self, container, name):
        super().__init__()
        self.container, self.name_of_items = container, name
        self.stopped = threading.Event()
        self.written, self.seen, self.errors = {}, {}, []
        _, self.continuation = changes(container, start_time="Beginning")

    def run(self):
        n = 0
        try:
            while not self.stopped.is_set() or n < 20:
                item = {"id": f"{self.name_of_items}{n}", "pk": f"k{n % KEYS}", "n": n}
                self.container.create_item(item)
                changed = self.container.upsert_item({**item, "n": -n})
                read = self.container.read_item(item["id"], item["pk"])
                assert read["_etag"] == changed["_etag"]
                self.written[item["id"]] = changed["n"]
                if n % 5 == 0:
                    self.follow()
                n += 1
        except BaseException as error:
            self.errors.append(error)

    def follow(self):
        found, self.continuation = changes(
            self.container, continuation=self.continuation, max_item_count=7
        )
        self.seen.update((row["id"], row["n"]) for row in found)


def test_writers_in_both_regions_notice_nothing(account):
    hub, satellite = operators_of(account, WEST), operators_of(account, NORTH)
    with both(account) as (west, north):
        wait_until(lambda: is_cut(satellite, north, ["0"]))
        first = west.create_item({"id": "first", "pk": "k1", "n": 1})
        token = first.get_response_headers()["x-ms-session-token"]
        wait_until(lambda: has(north, "first", "k1"))
        with pytest.raises(urllib.error.HTTPError) as refused:
            operate(satellite, north, {"split": {"id": "0"}})
        assert refused.value.code == 403
        assert refused.value.headers["x-ms-substatus"] == "3"

        writers = [Writer(west, "w"), Writer(north, "n")]
        for writer in writers:
            writer.start()
        try:
            for order, expected in [
                ({"split": {"id": "0", "at": "keys"}}, ["1", "2"]),
                ({"split": {"id": "1", "at": "keys"}}, ["3", "4", "2"]),
                ({"merge": ["4", "2"]}, ["3", "5"]),
                ({"split": {"id": "5"}}, ["3", "6", "7"]),
            ]:
                operate(hub, west, order)
                assert partition_ids(hub, west) == expected
                wait_until(functools.partial(is_cut, satellite, north, expected))
        finally:
            for writer in writers:
                writer.stopped.set()
            for writer in writers:
                writer.join(60)
        assert [writer.errors for writer in writers] == [[], []]

        written = {"first": 1} | writers[0].written | writers[1].written
        assert len(written) == 1 + sum(len(writer.written) for writer in writers)
        for container, writer, region in zip((west, north), writers, (hub, satellite)):
            wait_until(functools.partial(has_all, container, written))
            writer.follow()
            assert {"first": 1} | writer.seen == written
            found, _ = changes(container, start_time="Beginning", max_item_count=11)
            assert sorted(ids(found)) == sorted(written)
            assert container.read_item("first", "k1", session_token=token) == first
            wait_until(functools.partial(is_counted, region, container))
            rows = operate(region, container)["partitions"]
            assert sum(row["items"] for row in rows) == len(written)


def test_more_throughput_splits_in_every_region(account):
    hub, satellite = operators_of(account, WEST), operators_of(account, NORTH)
    with both(account) as (west, north):
        before = len(partition_ids(hub, west))
        west.replace_throughput((before + 1) * 10_000)
        wait_until(lambda: len(partition_ids(hub, west)) == before + 1)
        expected = partition_ids(hub, west)
        wait_until(lambda: is_cut(satellite, north, expected))
        north.create_item({"id": "after", "pk": "k3"})
        wait_until(lambda: has(west, "after", "k3"))
