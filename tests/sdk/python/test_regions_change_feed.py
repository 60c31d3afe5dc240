"""Change feeds where every region writes: a reader loses nothing, whatever region, range or SDK state it goes on from."""

import base64
import functools
import json
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

from changes import changes, ids
from operators import operate, partition_ids
from regions import ASIA, NORTH, WEST, Account, wait_until

REGIONS = (WEST, NORTH, ASIA)
KEYS = 6


@pytest.fixture
def account():
    options = {"multi_write": True, "service_managed_failover": "off"}
    started = Account(*REGIONS, **options)
    with started.client() as client:
        database = client.create_database("db")
        database.create_container("c", PartitionKey("/pk"), offer_throughput=400)
    yield started
    started.stop()


class Writers:
    """Writes new items in all regions."""

    def __init__(self, account, stack):
        options = {"multiple_write_locations": True}
        opened = [account.container(region, **options) for region in REGIONS]
        self.containers = [stack.enter_context(container) for container in opened]
        self.written = 0

    def write(self, containers=None):
        """What was written now."""
        made = []
        for number, container in enumerate(containers or self.containers):
            for key in range(KEYS):
                self.written += 1
                item = {"id": f"{self.written}", "pk": f"{number}.{key}"}
                made.append(container.create_item(item)["id"])
        return made


class Reader:
    """Keeps nothing but the continuation between two looks."""

    def __init__(self, container, **start):
        self.container = container
        self.read, self.continuation = changes(container, **start)
        self.seen = ids(self.read)

    def look(self):
        found, self.continuation = changes(
            self.container, continuation=self.continuation, max_item_count=4
        )
        self.seen += ids(found)
        return ids(found)

    def has(self, expected):
        self.look()
        return set(expected) <= set(self.seen)


# The first keeps the etag of the service, the second a state that the SDK makes of it.
STARTS = {
    "etag": {"partition_key_range_id": "0", "is_start_from_beginning": True},
    "state": {"start_time": "Beginning"},
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_a_reader_goes_on_where_it_was(account, start):
    hub = SimpleNamespace(endpoint=account.endpoint(WEST), key=account.key)
    north = SimpleNamespace(endpoint=account.endpoint(NORTH), key=account.key)
    with ExitStack() as stack:
        writers = Writers(account, stack)
        options = {"multiple_write_locations": True}
        container = stack.enter_context(account.container(NORTH, WEST, **options))
        expected = writers.write()
        reader = Reader(container, **start)
        for order, ranges in [
            (None, ["0"]),
            ({"split": {"id": "0", "at": "keys"}}, ["1", "2"]),
            ({"split": {"id": "1", "at": "keys"}}, ["3", "4", "2"]),
            ({"merge": ["4", "2"]}, ["3", "5"]),
        ]:
            expected += writers.write()
            if order is not None:
                operate(hub, writers.containers[0], order)
                there = functools.partial(partition_ids, north, container)
                wait_until(lambda: there() == ranges)
                expected += writers.write()
            wait_until(lambda: reader.has(expected))
            # Nothing twice either.
            assert sorted(reader.seen) == sorted(expected)
            assert reader.look() == []

        # Another region has the changes in another order.
        account.take_down(NORTH)
        expected += writers.write([writers.containers[0], writers.containers[2]])
        wait_until(lambda: reader.has(expected))
        wait_until(lambda: reader.look() == [])
        expected += writers.write([writers.containers[0], writers.containers[2]])
        before = len(reader.seen)
        wait_until(lambda: reader.has(expected))
        assert len(reader.seen) == before + 2 * KEYS

        account.bring_up(NORTH)
        account.take_down(WEST)
        expected += writers.write([writers.containers[2]])
        wait_until(lambda: reader.has(expected))


def test_all_versions_and_deletes_go_on_where_they_stopped(account):
    with ExitStack() as stack:
        west = stack.enter_context(account.client(WEST, multiple_write_locations=True))
        database = west.get_database_client("db")
        policy = {"retentionDuration": 10}
        kept = database.create_container("kept", PartitionKey("/pk"), change_feed_policy=policy)
        found, continuation = changes(kept, start_time="Now", mode="AllVersionsAndDeletes")
        assert found == []
        kept.create_item({"id": "1", "pk": "a", "n": 1})
        kept.replace_item("1", {"id": "1", "pk": "a", "n": 2})
        first, continuation = changes(kept, continuation=continuation)
        kept.delete_item("1", "a")
        kept.create_item({"id": "2", "pk": "b"})

    # Another client has nothing but the continuation.
    with account.client(WEST, multiple_write_locations=True) as client:
        kept = client.get_database_client("db").get_container_client("kept")
        second, continuation = changes(kept, continuation=continuation)
        assert changes(kept, continuation=continuation)[0] == []
    kinds = [change["metadata"]["operationType"] for change in first + second]
    assert kinds == ["create", "replace", "delete", "create"]
    assert [len(first), len(second)] == [2, 2]


@pytest.mark.parametrize("asks", [False, True], ids=["retention", "previous images"])
def test_what_was_deleted_shows_where_images_are_kept(account, asks):
    policy = {"retentionDuration": 10} | ({"previousImages": True} if asks else {})
    with account.client(multiple_write_locations=True) as client:
        database = client.get_database_client("db")
        kept = database.create_container("kept", PartitionKey("/pk"), change_feed_policy=policy)
        feed = {"mode": "AllVersionsAndDeletes"}
        _, continuation = changes(kept, start_time="Now", **feed)
        item = kept.create_item({"id": "1", "pk": "a"})
        kept.delete_item("1", "a")
        found, _ = changes(kept, continuation=continuation)
    created, deleted = found
    assert created["current"] == item
    assert deleted["metadata"]["operationType"] == "delete" and not deleted.get("current")
    assert deleted.get("previous") == (item if asks else None)


def with_position(continuation, written):
    """The state of the SDK with its position written in another way."""
    state = json.loads(base64.b64decode(continuation))
    (part,) = state["continuation"]["continuation"]
    region, lsn = part["token"].strip('"')[1:4], part["token"].strip('"')[4:]
    part["token"] = f'"{written(int(region), int(lsn))}"'
    return base64.b64encode(json.dumps(state).encode()).decode()


def test_positions_from_before_they_were_digits_go_on(account):
    with ExitStack() as stack:
        writers = Writers(account, stack)
        west = writers.containers[0]
        before = writers.write([west])
        _, continuation = changes(west, **STARTS["state"])
        after = writers.write([west])
        for written, expected in [
            (lambda region, lsn: f"{region}@{lsn}", after),
            (lambda region, lsn: f"{region + 1}@{lsn}", before + after),
        ]:
            found, _ = changes(west, continuation=with_position(continuation, written))
            assert sorted(ids(found)) == sorted(expected)
        with pytest.raises(CosmosHttpResponseError) as refused:
            changes(west, continuation=with_position(continuation, lambda _, lsn: lsn))
        assert "not a continuation of the change feed" in refused.value.message
