"""The change feed of latest versions: every item once, where it was changed last."""

import time
from datetime import datetime, timedelta, timezone

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from changes import changes, ids, pages


def numbered(count, keys=10):
    return [{"id": f"i{n}", "pk": f"k{n % keys}", "n": n} for n in range(count)]


def fill(container, count=40):
    for item in numbered(count):
        container.create_item(item)
    return sorted(ids(numbered(count)))


@pytest.fixture(scope="module")
def wide(database):
    """Three physical partitions, forty items over ten keys."""
    made = database.create_container("changes", PartitionKey("/pk"), offer_throughput=18000)
    fill(made)
    yield made
    database.delete_container(made.id)


def test_from_beginning(wide):
    found, _ = changes(wide, start_time="Beginning")
    assert sorted(ids(found)) == sorted(f"i{n}" for n in range(40))
    assert all(isinstance(row["_lsn"], int) and row["_etag"] for row in found)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_page_sizes(wide, size):
    found, _ = pages(wide, start_time="Beginning", max_item_count=size)
    assert all(1 <= len(page) <= size for page in found)
    assert sorted(row["n"] for page in found for row in page) == list(range(40))


def test_by_partition_key_in_order(wide):
    found, continuation = changes(wide, start_time="Beginning", partition_key="k3")
    assert [row["n"] for row in found] == [3, 13, 23, 33]
    assert [row["_lsn"] for row in found] == sorted(row["_lsn"] for row in found)
    assert changes(wide, continuation=continuation)[0] == []


def test_by_feed_range(wide):
    parts = []
    for feed_range in wide.read_feed_ranges():
        found, _ = changes(wide, start_time="Beginning", feed_range=feed_range, max_item_count=5)
        assert [row["_lsn"] for row in found] == sorted(row["_lsn"] for row in found)
        parts.append(set(ids(found)))
    assert all(parts) and sum(map(len, parts)) == 40
    assert len(set.union(*parts)) == 40


def test_by_feed_range_of_a_key(wide):
    feed_range = wide.feed_range_from_partition_key("k3")
    found, _ = changes(wide, start_time="Beginning", feed_range=feed_range)
    assert [row["n"] for row in found] == [3, 13, 23, 33]


def test_by_prefix_of_a_hierarchical_key(new_container):
    made = new_container(PartitionKey(["/a", "/b"], kind="MultiHash"), offer_throughput=12000)
    for n in range(12):
        made.create_item({"id": str(n), "a": f"a{n % 3}", "b": n})
    found, _ = changes(made, start_time="Beginning", partition_key=["a1"])
    assert sorted(ids(found), key=int) == ["1", "4", "7", "10"]
    found, _ = changes(made, start_time="Beginning", partition_key=["a1", 4])
    assert ids(found) == ["4"]


@pytest.mark.parametrize("throughput", [400, 18000])
def test_from_now(new_container, throughput):
    made = new_container(offer_throughput=throughput)
    fill(made, 20)
    found, continuation = changes(made, start_time="Now")
    assert found == []
    made.create_item({"id": "later", "pk": "k1"})
    made.upsert_item({"id": "i3", "pk": "k3", "n": 300})
    found, continuation = changes(made, continuation=continuation)
    assert sorted(ids(found)) == ["i3", "later"]
    assert changes(made, continuation=continuation)[0] == []


def test_from_a_time(new_container):
    made = new_container(offer_throughput=12000)
    fill(made, 10)
    last = max(row["_ts"] for row in made.read_all_items())
    while time.time() < last + 1.1:
        time.sleep(0.05)
    start = datetime.fromtimestamp(last, timezone.utc)
    late = [made.create_item({"id": f"late{n}", "pk": f"k{n}"})["id"] for n in range(10)]
    found, _ = changes(made, start_time=start)
    assert sorted(ids(found)) == late
    found, _ = changes(made, start_time=start - timedelta(hours=1), max_item_count=3)
    assert len(found) == 20
    assert changes(made, start_time=start + timedelta(hours=1))[0] == []


def test_updates_once_and_no_deletes(new_container):
    made = new_container()
    fill(made, 6)
    for n in range(5):
        made.upsert_item({"id": "i0", "pk": "k0", "n": 100 + n})
    made.patch_item("i1", "k1", [{"op": "incr", "path": "/n", "value": 200}])
    made.delete_item("i2", "k2")
    made.delete_item("i3", "k3")
    made.create_item({"id": "i3", "pk": "k3", "n": 3000})
    found, continuation = changes(made, start_time="Beginning")
    assert [(row["id"], row["n"]) for row in found] == [
        ("i4", 4),
        ("i5", 5),
        ("i0", 104),
        ("i1", 201),
        ("i3", 3000),
    ]
    made.delete_item("i4", "k4")
    assert changes(made, continuation=continuation)[0] == []


def test_order_within_a_key_page_by_page(new_container):
    made = new_container(offer_throughput=12000)
    seen, continuation = {}, None
    for round_ in range(4):
        for n in range(12):
            made.upsert_item({"id": f"{n}", "pk": f"k{n % 4}", "version": round_})
        where = {"continuation": continuation} if continuation else {"start_time": "Beginning"}
        found, continuation = changes(made, max_item_count=2, **where)
        for row in found:
            seen.setdefault(row["id"], []).append(row["version"])
    assert seen == {f"{n}": [0, 1, 2, 3] for n in range(12)}


def test_a_batch_comes_whole(new_container):
    made = new_container()
    batch = [("create", ({"id": str(n), "pk": "k"},)) for n in range(10)]
    made.execute_item_batch(batch, "k")
    found, _ = pages(made, start_time="Beginning", max_item_count=3)
    assert [sorted(ids(page), key=int) for page in found] == [[str(n) for n in range(10)]]
    assert len({row["_lsn"] for row in found[0]}) == 1


def test_continuation_outlives_the_client(server, database, new_container):
    made = new_container(offer_throughput=400)
    expected = fill(made, 30)
    seen, continuation = [], None
    for _ in range(100):
        with CosmosClient(server.endpoint, server.key) as client:
            fresh = client.get_database_client(database.id).get_container_client(made.id)
            where = {"continuation": continuation} if continuation else {"start_time": "Beginning"}
            pager = fresh.query_items_change_feed(max_item_count=4, **where).by_page()
            page = list(next(pager, []))
            continuation = pager.continuation_token
        if not page:
            break
        assert isinstance(continuation, str)
        seen += ids(page)
    assert sorted(seen) == expected


def test_continuation_of_several_partitions_outlives_the_client(server, database, new_container):
    """The SDK reads its own continuation only once every range has answered."""
    made = new_container(offer_throughput=18000)
    fill(made, 30)
    found, continuation = changes(made, start_time="Beginning", max_item_count=4)
    assert len(found) == 30
    late = [made.create_item({"id": f"late{n}", "pk": f"k{n}"})["id"] for n in range(10)]
    seen = []
    for _ in range(len(late) + 1):
        with CosmosClient(server.endpoint, server.key) as client:
            fresh = client.get_database_client(database.id).get_container_client(made.id)
            feed = fresh.query_items_change_feed(max_item_count=1, continuation=continuation)
            seen += ids(next(feed.by_page(), []))
            continuation = client.client_connection.last_response_headers["etag"]
    assert sorted(seen) == late


def test_empty_container(new_container):
    made = new_container()
    found, continuation = changes(made, start_time="Beginning")
    assert found == [] and continuation
    made.create_item({"id": "1", "pk": "a"})
    assert ids(changes(made, continuation=continuation)[0]) == ["1"]


def test_expired_items_are_absent(new_container):
    made = new_container(default_ttl=-1)
    made.create_item({"id": "short", "pk": "a", "ttl": 1})
    made.create_item({"id": "long", "pk": "a"})
    time.sleep(2.1)
    assert ids(changes(made, start_time="Beginning")[0]) == ["long"]
