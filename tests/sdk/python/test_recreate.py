"""A container deleted and created again under a client that still remembers the old one."""

from azure.cosmos import CosmosClient, PartitionKey

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
