"""A container deleted and created again under a client that still remembers the old one."""

import threading
import time

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import unique
from expect import failure


def recreate(database, name, path="/pk", **options):
    database.delete_container(name)
    return database.create_container(name, PartitionKey(path), **options)


def test_live_client_recovers(server, database):
    name = unique("again")
    database.create_container(name, PartitionKey("/pk"), offer_throughput=400)
    with CosmosClient(server.endpoint, server.key) as other:
        remembered = other.get_database_client(database.id).get_container_client(name)
        old = remembered.create_item({"id": "1", "pk": "a"})
        recreate(database, name, offer_throughput=700)
        with failure(404):
            remembered.read_item("1", "a")
        new = remembered.create_item({"id": "1", "pk": "a"})
        assert new["_rid"] != old["_rid"]
        assert [row["id"] for row in remembered.read_all_items()] == ["1"]
        assert [
            row["id"] for row in remembered.query_items("SELECT * FROM c", partition_key="a")
        ] == ["1"]
        assert remembered.get_throughput().offer_throughput == 700
    database.delete_container(name)


def test_resource_ids_are_never_reused(database):
    name = unique("again")
    seen = set()
    database.create_container(name, PartitionKey("/pk"))
    for _ in range(4):
        seen.add(recreate(database, name).read()["_rid"])
    assert len(seen) == 4
    database.delete_container(name)


def test_other_partition_key_path(server, database):
    name = unique("again")
    database.create_container(name, PartitionKey("/pk"))
    with CosmosClient(server.endpoint, server.key) as other:
        remembered = other.get_database_client(database.id).get_container_client(name)
        remembered.create_item({"id": "1", "pk": "a", "other": "x"})
        recreate(database, name, "/other")
        # The SDK looks for the new key only where the old one was missing.
        remembered.create_item({"id": "1", "other": "x"})
        assert remembered.read_item("1", "x")["other"] == "x"
        remembered.create_item({"id": "2", "pk": "a", "other": "x"})
        assert remembered.read_item("2", "x")["pk"] == "a"
    database.delete_container(name)


def test_more_partitions_than_before(server, database):
    name = unique("again")
    database.create_container(name, PartitionKey("/pk"))
    with CosmosClient(server.endpoint, server.key) as other:
        remembered = other.get_database_client(database.id).get_container_client(name)
        remembered.create_item({"id": "1", "pk": "a"})
        recreate(database, name, offer_throughput=18000)
        for n in range(30):
            remembered.create_item({"id": str(n), "pk": f"k{n}"})
        assert len(list(remembered.read_all_items(max_item_count=7))) == 30
        found = list(remembered.query_items("SELECT * FROM c", enable_cross_partition_query=True))
        assert len(found) == 30
    database.delete_container(name)


def test_more_readers_recover(server, database):
    """Queries, read_items, feed ranges and the change feed after the name stands for another."""
    name = unique("again")
    database.create_container(name, PartitionKey("/pk"), offer_throughput=18000)
    with CosmosClient(server.endpoint, server.key) as other:
        remembered = other.get_database_client(database.id).get_container_client(name)
        for n in range(9):
            remembered.create_item({"id": str(n), "pk": f"k{n}"})
        assert len(list(remembered.query_items_change_feed(start_time="Beginning"))) == 9
        recreate(database, name, offer_throughput=400)
        for n in range(5):
            remembered.create_item({"id": f"new{n}", "pk": f"k{n}"})
        found = [(row["id"], row["pk"]) for row in remembered.read_all_items()]
        assert sorted(found) == [(f"new{n}", f"k{n}") for n in range(5)]
        assert len(remembered.read_items(found)) == 5
        ordered = "SELECT VALUE c.id FROM c ORDER BY c.id"
        rows = remembered.query_items(ordered, enable_cross_partition_query=True)
        assert list(rows) == [f"new{n}" for n in range(5)]
        assert len(list(remembered.read_feed_ranges(force_refresh=True))) == 1
        feed = remembered.query_items_change_feed(start_time="Beginning")
        assert sorted(row["id"] for row in feed) == [f"new{n}" for n in range(5)]
    database.delete_container(name)


def test_recreate_under_a_feed_reader(server, database):
    name = unique("again")
    database.create_container(name, PartitionKey("/pk"))
    with CosmosClient(server.endpoint, server.key) as other:
        remembered = other.get_database_client(database.id).get_container_client(name)
        for n in range(10):
            remembered.create_item({"id": str(n), "pk": "a"})
        pager = remembered.query_items_change_feed(
            start_time="Beginning", max_item_count=2
        ).by_page()
        assert [row["id"] for row in next(pager)] == ["0", "1"]
        continuation = pager.continuation_token
        recreate(database, name)
        remembered.create_item({"id": "new", "pk": "a"})
        # The continuation names the container it was taken from; the SDK refuses it for another.
        remembered.read()
        with pytest.raises(ValueError, match="rid"):
            list(remembered.query_items_change_feed(continuation=continuation))
        fresh = remembered.query_items_change_feed(start_time="Beginning")
        assert [row["id"] for row in fresh] == ["new"]
    database.delete_container(name)


def test_delete_under_load(server, database):
    name = unique("doomed")
    database.create_container(name, PartitionKey("/pk"), offer_throughput=12000)
    with CosmosClient(server.endpoint, server.key) as other:
        doomed = other.get_database_client(database.id).get_container_client(name)
        started = threading.Barrier(5)
        outcomes = []

        def work(number):
            started.wait()
            try:
                for n in range(10_000):
                    doomed.upsert_item({"id": f"{number}-{n}", "pk": f"k{n % 7}"})
                    doomed.read_item(f"{number}-{n}", f"k{n % 7}")
                    if n % 5 == 0:
                        list(doomed.query_items("SELECT * FROM c", partition_key="k1"))
                        list(doomed.query_items_change_feed(start_time="Beginning"))
                outcomes.append("never deleted")
            except CosmosHttpResponseError as error:
                outcomes.append(error.status_code)
            except BaseException as error:
                outcomes.append(repr(error))

        workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        started.wait()
        time.sleep(0.5)
        database.delete_container(name)
        for worker in workers:
            worker.join(60)
    assert outcomes == [404] * 4
