"""What a client with a resource token reaches, and what it does not whatever it sends."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from conftest import asynchronous, unique
from expect import failure, sending
from tokens import allow, connect

OTHERS = "marker-of-another-key"


@pytest.fixture
def two(container):
    """A key with two items and another one whose items nobody else may see."""
    mine, other = unique("mine"), unique("other")
    for name in ("1", "2"):
        container.create_item({"id": name, "pk": mine, "text": "mine"})
        container.create_item({"id": name, "pk": other, "text": OTHERS})
    return mine, other


@pytest.fixture
def keyed(server, database, container, user, two):
    """The shared container as a client sees it that may do everything with one key."""
    permission = allow(user, "all", container.container_link, resourcePartitionKey=[two[0]])
    with connect(server, permission, container.container_link) as limited:
        yield limited.get_database_client(database.id).get_container_client(container.id)


def texts(rows):
    return sorted(row["text"] for row in rows)


def test_a_key_by_every_way_of_reading(keyed, two):
    mine, _ = two
    assert keyed.read()["id"] == keyed.id
    assert list(keyed.read_feed_ranges())
    assert keyed.read_item("1", mine)["text"] == "mine"
    for query in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.text"):
        assert texts(keyed.query_items(query, partition_key=mine)) == ["mine", "mine"]
    assert texts(keyed.query_items_change_feed(partition_key=mine, start_time="Beginning")) == ["mine", "mine"]
    read = keyed.read_items([("1", mine), ("2", mine)])
    assert texts(read) == ["mine", "mine"]


def test_a_key_by_every_way_of_writing(keyed, two):
    mine, _ = two
    keyed.upsert_item({"id": "3", "pk": mine})
    keyed.patch_item("3", mine, [{"op": "set", "path": "/a", "value": 1}])
    batch = [("create", ({"id": "4", "pk": mine},)), ("delete", ("3",))]
    assert len(keyed.execute_item_batch(batch, mine)) == 2
    keyed.delete_all_items_by_partition_key(mine)
    assert list(keyed.query_items("SELECT * FROM c", partition_key=mine)) == []


def test_other_keys_stay_closed(container, keyed, two):
    _, other = two
    for read in (
        lambda: keyed.read_item("1", other),
        lambda: list(keyed.query_items("SELECT * FROM c", partition_key=other)),
        lambda: list(keyed.query_items("SELECT * FROM c", enable_cross_partition_query=True)),
        lambda: list(keyed.read_all_items()),
        lambda: list(keyed.query_items_change_feed(partition_key=other, start_time="Beginning")),
        lambda: list(keyed.query_items_change_feed(start_time="Beginning")),
        lambda: keyed.create_item({"id": "3", "pk": other}),
        lambda: keyed.upsert_item({"id": "1", "pk": other}),
        lambda: keyed.patch_item("1", other, [{"op": "set", "path": "/a", "value": 1}]),
        lambda: keyed.execute_item_batch([("delete", ("1",))], other),
        lambda: keyed.delete_item("1", other),
        lambda: keyed.delete_all_items_by_partition_key(other),
    ):
        with failure(403):
            read()
    rows = container.query_items("SELECT * FROM c", partition_key=other)
    assert texts(rows) == [OTHERS, OTHERS]


def test_feed_ranges_open_no_other_key(container, keyed, two):
    mine, other = two
    own, foreign = container.feed_range_from_partition_key(mine), container.feed_range_from_partition_key(other)
    assert texts(keyed.query_items("SELECT * FROM c", feed_range=own)) == ["mine", "mine"]
    assert texts(keyed.query_items_change_feed(feed_range=own, start_time="Beginning")) == ["mine", "mine"]
    for feed_range in (foreign, *container.read_feed_ranges()):
        with failure(403):
            list(keyed.query_items("SELECT * FROM c", feed_range=feed_range))
        with failure(403):
            list(keyed.query_items_change_feed(feed_range=feed_range, start_time="Beginning"))


@pytest.mark.parametrize("start, end", [("", "FF"), ("00", "FF")])
def test_headers_of_ranges_do_not_widen_a_key(keyed, two, start, end):
    headers = {
        "x-ms-start-epk": start,
        "x-ms-end-epk": end,
        "x-ms-read-key-type": "EffectivePartitionKeyRange",
    }

    def override(request):
        request.http_request.headers.update(headers)

    rows = keyed.query_items("SELECT * FROM c", partition_key=two[0], raw_request_hook=override)
    assert texts(rows) == ["mine", "mine"]


def test_a_key_changes_nothing_of_the_container(database, new_container, server, user):
    made = new_container()
    made.scripts.create_stored_procedure({"id": "s", "body": "function () { getContext().getResponse().setBody(1); }"})
    permission = allow(user, "all", made.container_link, resourcePartitionKey=["p"])
    with connect(server, permission, made.container_link, database.database_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(made.id)
        assert seen.scripts.execute_stored_procedure("s", partition_key="p") == 1
        with failure(403):
            seen.scripts.execute_stored_procedure("s", partition_key="q")
        with failure(403):
            seen.scripts.replace_stored_procedure("s", {"id": "s", "body": "function () {}"})
        with failure(403):
            seen.scripts.create_user_defined_function({"id": "f", "body": "function () {}"})
        with failure(403):
            limited.get_database_client(database.id).replace_container(made.id, PartitionKey("/pk"), default_ttl=1)
        with failure(403):
            limited.get_database_client(database.id).delete_container(made.id)
    assert "defaultTtl" not in made.read()


def test_a_token_of_an_item_reads_the_container_first(server, database, container, user, two):
    mine, _ = two
    link = f"{container.container_link}/docs/1"
    permission = allow(user, "all", link, resourcePartitionKey=[mine])
    with connect(server, permission, link, container.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        assert seen.read()["partitionKey"]["paths"] == ["/pk"]
        assert list(seen.read_feed_ranges())
        assert seen.read_item("1", mine)["text"] == "mine"
        seen.replace_item("1", {"id": "1", "pk": mine, "text": "changed"})
        for refused in (
            lambda: seen.read_item("2", mine),
            lambda: list(seen.query_items("SELECT * FROM c", partition_key=mine)),
            lambda: seen.upsert_item({"id": "3", "pk": mine}),
        ):
            with failure(403):
                refused()
        container.delete_item("1", mine)
        container.create_item({"id": "1", "pk": mine, "text": OTHERS})
        with failure(404):
            seen.read_item("1", mine)
        with failure(404):
            seen.delete_item("1", mine)


def test_a_container_made_anew_is_another_one(server, database, user):
    name = unique("anew")
    made = database.create_container(name, PartitionKey("/pk"))
    permission = allow(user, "all", made.container_link)
    with connect(server, permission, made.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(name)
        seen.create_item({"id": "1", "pk": "a"})
        database.delete_container(name)
        database.create_container(name, PartitionKey("/pk")).create_item({"id": "1", "pk": "a"})
        with failure(403):
            seen.read_item("1", "a")


def test_no_token_makes_permissions(server, client, database, user):
    elsewhere = client.create_database(unique("db"))
    foreign = elsewhere.create_container("items", PartitionKey("/pk"))
    with failure(400, message="another database"):
        allow(user, "all", foreign.container_link)
    with failure(400, message="does not exist"):
        allow(user, "all", f"{database.database_link}/colls/none")
    permission = allow(user, "all", database.database_link)
    token = {database.database_link: permission.properties["_token"]}
    with CosmosClient(server.endpoint, token) as limited:
        bearer = limited.get_database_client(database.id).get_user_client(user.id)
        for refused in (
            lambda: allow(bearer, "all", foreign.container_link),
            lambda: bearer.get_permission(permission.id),
            lambda: list(bearer.list_permissions()),
        ):
            with failure(403):
                refused()
    client.delete_database(elsewhere)


def test_the_first_level_of_a_hierarchical_key(server, database, user):
    made = database.create_container(unique("tenants"), PartitionKey(["/tenant", "/user"], kind="MultiHash"))
    for tenant, name in (("a", "1"), ("a", "2"), ("b", "1")):
        made.create_item({"id": "i", "tenant": tenant, "user": name, "text": tenant})
    permission = allow(user, "all", made.container_link, resourcePartitionKey=["a"])
    with connect(server, permission, made.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(made.id)
        assert seen.read_item("i", ["a", "2"])["text"] == "a"
        assert texts(seen.query_items("SELECT * FROM c", partition_key=["a"])) == ["a", "a"]
        with failure(403):
            seen.read_item("i", ["b", "1"])
        with failure(403):
            list(seen.query_items("SELECT * FROM c", partition_key=["b"]))
    database.delete_container(made)


def test_a_key_named_beside_the_token_changes_nothing(keyed, two):
    """The header of the key may be replaced: what is read then is not what was granted."""
    mine, other = two
    with failure(403):
        keyed.read_item("1", mine, **sending("x-ms-documentdb-partitionkey", f'["{other}"]'))


@asynchronous
async def test_asynchronous_clients_alike(server, database, container, user, two):
    mine, other = two
    permission = allow(user, "read", container.container_link, resourcePartitionKey=[mine])
    token = {container.container_link: permission.properties["_token"]}
    async with AsyncCosmosClient(server.endpoint, token) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        assert (await seen.read_item("1", mine))["text"] == "mine"
        rows = [row async for row in seen.query_items("SELECT * FROM c", partition_key=mine)]
        assert texts(rows) == ["mine", "mine"]
        with failure(403):
            await seen.read_item("1", other)


@pytest.mark.parametrize("mode", ["read", "all"])
def test_a_token_for_one_item(server, database, container, user, two, mode):
    mine, other = two
    link = f"{container.container_link}/docs/1"
    permission = allow(user, mode, link, resourcePartitionKey=[mine])
    with connect(server, permission, container.container_link, link) as limited:
        made = limited.get_database_client(database.id).get_container_client(container.id)
        assert made.read()["id"] == container.id
        assert list(made.read_feed_ranges())
        assert made.read_item("1", mine)["text"] == "mine"
        for refused in [
            lambda: made.read_item("2", mine),
            lambda: made.read_item("1", other),
            lambda: list(made.query_items("SELECT * FROM c", partition_key=mine)),
        ]:
            with failure(403):
                refused()
        if mode == "all":
            made.replace_item("1", {"id": "1", "pk": mine, "text": "new"})
        else:
            with failure(403):
                made.replace_item("1", {"id": "1", "pk": mine, "text": "new"})
