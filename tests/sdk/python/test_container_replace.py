"""What a container replace may change, and what it may not."""

import pytest
from azure.cosmos import PartitionKey

from conftest import unique
from expect import failure


def test_replace_changes_the_mutable_parts(database, new_container):
    made = new_container()
    before = made.read()
    database.replace_container(
        made.id,
        PartitionKey("/pk"),
        indexing_policy={"includedPaths": [{"path": "/a/?"}], "excludedPaths": [{"path": "/*"}]},
        default_ttl=60,
        analytical_storage_ttl=-1,
        computed_properties=[{"name": "n", "query": "SELECT VALUE LOWER(c.a) FROM c"}],
    )
    after = made.read()
    assert after["indexingPolicy"]["includedPaths"] == [{"path": "/a/?"}]
    assert after["defaultTtl"] == 60
    assert after["analyticalStorageTtl"] == -1
    assert after["computedProperties"][0]["name"] == "n"
    assert after["_rid"] == before["_rid"]
    assert after["_etag"] != before["_etag"]


def test_replace_without_ttl_switches_it_off(database, new_container):
    made = new_container(default_ttl=60)
    database.replace_container(made.id, PartitionKey("/pk"))
    assert "defaultTtl" not in made.read()


def test_partition_key_cannot_change(database, new_container):
    made = new_container()
    with failure(400):
        database.replace_container(made.id, PartitionKey("/other"))


def test_unique_keys_cannot_change(database, new_container):
    made = new_container(unique_key_policy={"uniqueKeys": [{"paths": ["/a"]}]})
    definition = made.read()
    definition["uniqueKeyPolicy"] = {"uniqueKeys": [{"paths": ["/b"]}]}
    with failure(400):
        database.client_connection.ReplaceContainer(made.container_link, dict(definition))


def test_conflict_resolution_cannot_change(database, new_container):
    made = new_container()
    policy = {"mode": "LastWriterWins", "conflictResolutionPath": "/other"}
    with failure(400, message="Updating conflict resolution policy is currently not supported"):
        database.replace_container(made.id, PartitionKey("/pk"), conflict_resolution_policy=policy)


def test_id_cannot_change(database, new_container):
    made = new_container()
    definition = dict(made.read(), id=unique("renamed"))
    with failure(400):
        database.client_connection.ReplaceContainer(made.container_link, definition)


def test_replace_of_a_missing_container(database):
    with failure(404):
        database.replace_container(unique("gone"), PartitionKey("/pk"))


@pytest.mark.parametrize("ttl", [0, -10])
def test_impossible_ttl_leaves_the_old_one(database, new_container, ttl):
    made = new_container(default_ttl=60)
    with failure(400):
        database.replace_container(made.id, PartitionKey("/pk"), default_ttl=ttl)
    assert made.read()["defaultTtl"] == 60


def test_items_survive_a_replace(database, new_container):
    made = new_container()
    item = made.create_item({"id": "1", "pk": "a", "b": 2})
    unindexed = {"indexingMode": "none", "automatic": False}
    database.replace_container(made.id, PartitionKey("/pk"), indexing_policy=unindexed)
    assert made.read_item("1", "a") == item
