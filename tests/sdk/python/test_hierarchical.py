"""Hierarchical partition keys: whole keys for points, prefixes for queries."""

import pytest
from azure.cosmos import PartitionKey

from expect import failure, sending


@pytest.fixture(scope="module", params=[400, 18000], ids=["one partition", "three partitions"])
def tenants(request, database):
    name = f"tenants-{request.param}"
    made = database.create_container(
        name,
        PartitionKey(["/tenant", "/user", "/session"], kind="MultiHash"),
        offer_throughput=request.param,
    )
    for tenant in ("a", "b"):
        for user in ("u1", "u2"):
            for session in (1, 2, 3):
                made.create_item(
                    {
                        "id": f"{tenant}{user}{session}",
                        "tenant": tenant,
                        "user": user,
                        "session": session,
                    }
                )
    yield made
    database.delete_container(name)


def ids(rows):
    return sorted(row["id"] for row in rows)


def test_point_operations_take_the_whole_key(tenants):
    item = tenants.read_item("au11", ["a", "u1", 1])
    assert item["id"] == "au11"
    replaced = tenants.replace_item("au11", dict(item, touched=True))
    assert replaced["touched"] is True
    key = ["t", "u", True]
    tenants.create_item({"id": "x", "tenant": "t", "user": "u", "session": True})
    tenants.delete_item("x", key)
    with failure(404):
        tenants.read_item("x", key)


@pytest.mark.parametrize(
    "prefix, expected",
    [
        (["a"], ["au11", "au12", "au13", "au21", "au22", "au23"]),
        (["a", "u2"], ["au21", "au22", "au23"]),
        (["b", "u1", 3], ["bu13"]),
        (["c"], []),
    ],
    ids=repr,
)
def test_query_by_prefix(tenants, prefix, expected):
    assert ids(tenants.query_items("SELECT * FROM c", partition_key=prefix)) == expected


def test_query_by_prefix_in_pages(tenants):
    pages = tenants.query_items("SELECT * FROM c", partition_key=["a"], max_item_count=2).by_page()
    found = [list(page) for page in pages]
    assert all(len(page) <= 2 for page in found)
    assert ids(row for page in found for row in page) == [
        "au11",
        "au12",
        "au13",
        "au21",
        "au22",
        "au23",
    ]


def test_query_with_a_condition_inside_a_prefix(tenants):
    rows = tenants.query_items(
        "SELECT * FROM c WHERE c.session = @s",
        parameters=[{"name": "@s", "value": 2}],
        partition_key=["b"],
    )
    assert ids(rows) == ["bu12", "bu22"]


def test_read_feed_covers_all(tenants):
    assert len(ids(tenants.read_all_items())) == 12


def test_prefix_is_not_enough_for_a_point_read(tenants):
    with failure(400):
        tenants.read_item("au11", ["a", "u1"])


def test_too_many_components(tenants):
    key = sending("x-ms-documentdb-partitionkey", '["a","u1",1,"more"]')
    with failure(400):
        tenants.read_item("au11", ["a", "u1", 1], **key)


def test_one_and_two_levels(new_container):
    single = new_container(PartitionKey(["/a"], kind="MultiHash"))
    item = single.create_item({"id": "1", "a": "x"})
    assert single.read_item("1", ["x"]) == item
    double = new_container(PartitionKey(["/a", "/b/c"], kind="MultiHash"))
    item = double.create_item({"id": "1", "a": "x", "b": {"c": None}})
    assert double.read_item("1", ["x", None]) == item


def test_batch_inside_one_whole_key(tenants):
    key = ["batch", "u", 1]
    body = {"tenant": "batch", "user": "u", "session": 1}
    results = tenants.execute_item_batch(
        [("create", ({"id": "b1", **body},)), ("create", ({"id": "b2", **body},))], key
    )
    assert [row["statusCode"] for row in results] == [201, 201]
    for name in ("b1", "b2"):
        tenants.delete_item(name, key)


def test_read_many_over_whole_keys(tenants):
    wanted = [("au11", ["a", "u1", 1]), ("bu23", ["b", "u2", 3]), ("none", ["b", "u1", 9])]
    assert ids(tenants.read_items(wanted)) == ["au11", "bu23"]
