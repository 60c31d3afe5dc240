"""Containers: life cycle, listing and the defaults a read shows."""

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.documents import IndexingDirective
from azure.cosmos.exceptions import CosmosResourceExistsError, CosmosResourceNotFoundError

from conftest import unique
from expect import Hook, charge, failure


def test_read_shows_every_default(new_container):
    properties = new_container().read()
    assert properties["partitionKey"] == {"paths": ["/pk"], "kind": "Hash", "version": 2}
    assert properties["indexingPolicy"] == {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": '/"_etag"/?'}],
    }
    assert properties["conflictResolutionPolicy"] == {
        "mode": "LastWriterWins",
        "conflictResolutionPath": "/_ts",
        "conflictResolutionProcedure": "",
    }
    assert properties["geospatialConfig"] == {"type": "Geography"}
    assert properties.get("uniqueKeyPolicy", {"uniqueKeys": []}) == {"uniqueKeys": []}
    assert "defaultTtl" not in properties
    for part in ("docs", "sprocs", "triggers", "udfs", "conflicts"):
        assert properties[f"_{part}"] == f"{part}/"


def test_links_are_built_from_resource_ids(database, new_container):
    parent = database.read()
    properties = new_container().read()
    assert properties["_self"] == f"dbs/{parent['_rid']}/colls/{properties['_rid']}/"
    assert len(properties["_rid"]) == 12


def test_create_twice_conflicts(database, new_container):
    name = new_container().id
    with pytest.raises(CosmosResourceExistsError):
        database.create_container(name, PartitionKey("/pk"))


def test_create_if_not_exists_returns_the_existing_definition(database, new_container):
    made = new_container("/a")
    again = database.create_container_if_not_exists(made.id, PartitionKey("/b"))
    assert again.read()["partitionKey"]["paths"] == ["/a"]


def test_list_and_query(database, new_container):
    names = {new_container().id for _ in range(2)}
    assert names <= {found["id"] for found in database.list_containers()}
    wanted = min(names)
    found = list(
        database.query_containers(
            "SELECT * FROM r WHERE r.id=@id", parameters=[{"name": "@id", "value": wanted}]
        )
    )
    assert [row["id"] for row in found] == [wanted]


def test_list_pages_honour_the_page_size(database, new_container):
    names = {new_container().id for _ in range(3)}
    pages = [list(page) for page in database.list_containers(max_item_count=1).by_page()]
    assert all(len(page) <= 1 for page in pages)
    assert names <= {row["id"] for page in pages for row in page}


def test_delete_then_not_found(database, new_container):
    made = new_container()
    made.create_item({"id": "1", "pk": "a"})
    database.delete_container(made.id)
    with pytest.raises(CosmosResourceNotFoundError):
        made.read()
    with pytest.raises(CosmosResourceNotFoundError):
        database.delete_container(made.id)


def test_missing_container(database):
    with failure(404, sub_status=0):
        database.get_container_client(unique("gone")).read()


@pytest.mark.parametrize("name", ["with space", "docs", "çöntainer", "a+b", "数据", "c%41"])
def test_unusual_names_hold_items(database, name):
    made = database.create_container(name, PartitionKey("/pk"))
    try:
        item = made.create_item({"id": "1", "pk": "a"})
        assert made.read_item("1", "a") == item
        assert [row["id"] for row in made.read_all_items()] == ["1"]
    finally:
        database.delete_container(name)


def test_charges_and_etag(database):
    name = unique("c")
    hook = Hook()
    made = database.create_container(name, PartitionKey("/pk"), response_hook=hook)
    assert charge(hook.headers) > 0
    properties = made.read(response_hook=hook)
    assert charge(hook.headers) > 0
    assert hook.headers["etag"] == properties["_etag"]
    database.delete_container(name, response_hook=hook)
    assert charge(hook.headers) > 0


def test_quota_and_statistics_on_request(new_container):
    made = new_container()
    hook = Hook()
    properties = made.read(
        populate_partition_key_range_statistics=True, populate_quota_info=True, response_hook=hook
    )
    assert hook.headers["x-ms-documentdb-collection-index-transformation-progress"] == "100"
    assert "collectionSize=" in hook.headers["x-ms-resource-usage"]
    assert "collectionSize=" in hook.headers["x-ms-resource-quota"]
    assert [row["id"] for row in properties["statistics"]] == ["0"]


@pytest.mark.parametrize(
    "key",
    [
        {"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash", "version": 2},
        {"paths": ["/a", "/b"], "kind": "Hash", "version": 2},
        {"paths": [], "kind": "Hash", "version": 2},
        {"paths": ["a"], "kind": "Hash", "version": 2},
        {"paths": ["/a/*"], "kind": "Hash", "version": 2},
        {"paths": ["/a"], "kind": "Hash", "version": 3},
        {"paths": ["/a"], "kind": "Tree", "version": 2},
    ],
)
def test_impossible_partition_keys_are_refused(database, key):
    with failure(400):
        database.create_container(unique("c"), key)


def test_too_many_key_paths_are_counted(database):
    key = {"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash", "version": 2}
    with failure(
        400, message="Too many partition key paths (4) specified. A maximum of 3 is allowed."
    ):
        database.create_container(unique("c"), key)


def test_container_without_partition_key_is_refused(database):
    with failure(400):
        database.create_container(unique("c"), None)


@pytest.mark.parametrize("directive, expected", [("Default", []), ("Exclude", []), ("Include", ["1"])])
def test_filters_miss_items_without_index_entries(new_container, directive, expected):
    """As in Microsoft's IndexManagement sample."""
    made = new_container(indexing_policy={"automatic": False, "indexingMode": "consistent"})
    assert made.read()["indexingPolicy"]["automatic"] is False
    number = getattr(IndexingDirective, directive)
    made.create_item({"id": "1", "pk": "a", "n": 1}, indexing_directive=number)
    query = "SELECT VALUE c.id FROM c WHERE c.n = 1"
    assert list(made.query_items(query, partition_key="a")) == expected
    assert list(made.query_items(query, partition_key="a", enable_scan_in_query=True)) == ["1"]
    assert list(made.query_items("SELECT VALUE c.id FROM c", partition_key="a")) == ["1"]
    assert made.read_item("1", "a")["n"] == 1
