"""The asynchronous client: the same calls, awaited."""

import asyncio

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey, ThroughputProperties
from azure.cosmos.aio import CosmosClient
from azure.cosmos.exceptions import (
    CosmosAccessConditionFailedError,
    CosmosBatchOperationError,
    CosmosHttpResponseError,
    CosmosResourceExistsError,
    CosmosResourceNotFoundError,
)
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from conftest import asynchronous, unique
from expect import Hook, charge
from test_item_ids import IDS


async def collect(rows):
    return [row async for row in rows]


async def open_items(client, database, container):
    return client.get_database_client(database.id).get_container_client(container.id)


@asynchronous
async def test_databases(connect_async):
    name = unique("db")
    async with connect_async() as client:
        made = await client.create_database(name)
        assert (await made.read())["id"] == name
        with pytest.raises(CosmosResourceExistsError):
            await client.create_database(name)
        await client.create_database_if_not_exists(name)
        assert name in [row["id"] for row in await collect(client.list_databases())]
        found = client.query_databases(
            "SELECT * FROM r WHERE r.id=@id", parameters=[{"name": "@id", "value": name}]
        )
        assert [row["id"] for row in await collect(found)] == [name]
        await client.delete_database(name)
        with pytest.raises(CosmosResourceNotFoundError):
            await made.read()


@asynchronous
async def test_containers_and_throughput(connect_async, database):
    name = unique("c")
    async with connect_async() as client:
        parent = client.get_database_client(database.id)
        made = await parent.create_container(
            name,
            PartitionKey("/pk"),
            default_ttl=60,
            unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]},
            offer_throughput=ThroughputProperties(auto_scale_max_throughput=4000),
        )
        properties = await made.read()
        assert properties["defaultTtl"] == 60
        assert (await made.get_throughput()).auto_scale_max_throughput == 4000
        await made.replace_throughput(ThroughputProperties(auto_scale_max_throughput=6000))
        assert (await made.get_throughput()).auto_scale_max_throughput == 6000
        await parent.replace_container(name, PartitionKey("/pk"))
        assert "defaultTtl" not in await made.read()
        assert name in [row["id"] for row in await collect(parent.list_containers())]
        await parent.delete_container(name)
        with pytest.raises(CosmosResourceNotFoundError):
            await made.read()


@asynchronous
async def test_item_verbs(connect_async, database, container, pk):
    async with connect_async() as client:
        items = await open_items(client, database, container)
        created = await items.create_item({"id": "1", "pk": pk, "n": 0})
        assert created.get_response_headers()["etag"] == created["_etag"]
        assert await items.read_item("1", pk) == created
        with pytest.raises(CosmosResourceExistsError):
            await items.create_item({"id": "1", "pk": pk})
        assert (await items.upsert_item({"id": "1", "pk": pk, "n": 1}))["n"] == 1
        assert (await items.replace_item("1", {"id": "1", "pk": pk, "n": 2}))["n"] == 2
        increment = [{"op": "incr", "path": "/n", "value": 1}]
        patched = await items.patch_item(
            "1", pk, increment, filter_predicate="from c where c.n = 2"
        )
        assert patched["n"] == 3
        with pytest.raises(CosmosHttpResponseError) as caught:
            await items.patch_item("1", pk, increment, filter_predicate="from c where c.n = 2")
        assert (caught.value.status_code, caught.value.sub_status) == (412, 1110)
        assert await items.create_item({"id": "2", "pk": pk}, no_response=True) == {}
        generated = await items.create_item({"pk": pk}, enable_automatic_id_generation=True)
        assert len(generated["id"]) == 36
        hook = Hook()
        await items.delete_item("1", pk, response_hook=hook)
        assert charge(hook.headers) > 0
        with pytest.raises(CosmosResourceNotFoundError):
            await items.read_item("1", pk)


@asynchronous
async def test_conditions(connect_async, database, container, pk):
    async with connect_async() as client:
        items = await open_items(client, database, container)
        item = await items.create_item({"id": "1", "pk": pk})
        unchanged = await items.read_item(
            "1", pk, etag=item["_etag"], match_condition=MatchConditions.IfModified
        )
        assert unchanged == {}
        await items.replace_item(
            "1",
            {"id": "1", "pk": pk, "n": 1},
            etag=item["_etag"],
            match_condition=MatchConditions.IfNotModified,
        )
        with pytest.raises(CosmosAccessConditionFailedError):
            await items.delete_item(
                "1", pk, etag=item["_etag"], match_condition=MatchConditions.IfNotModified
            )


@asynchronous
async def test_partition_keys_of_every_type(connect_async, database, new_container):
    made = new_container()
    async with connect_async() as client:
        items = await open_items(client, database, made)
        for value in ("text", "", 1, -2.5, True, False):
            item = await items.create_item({"id": "1", "pk": value})
            assert await items.read_item("1", value) == item
        null = await items.create_item({"id": "1", "pk": None})
        missing = await items.create_item({"id": "1"})
        assert await items.read_item("1", NullPartitionKeyValue) == null
        assert await items.read_item("1", NonePartitionKeyValue) == missing
        assert len(await collect(items.read_all_items())) == 8


@asynchronous
async def test_unusual_ids(connect_async, database, container, pk):
    async with connect_async() as client:
        items = await open_items(client, database, container)
        for identity in IDS.values():
            created = await items.create_item({"id": identity, "pk": pk})
            assert await items.read_item(identity, pk) == created
            await items.delete_item(identity, pk)


@asynchronous
async def test_batch(connect_async, database, container, pk):
    async with connect_async() as client:
        items = await open_items(client, database, container)
        results = await items.execute_item_batch(
            [("create", ({"id": "1", "pk": pk},)), ("read", ("1",))], pk
        )
        assert [row["statusCode"] for row in results] == [201, 200]
        with pytest.raises(CosmosBatchOperationError) as caught:
            await items.execute_item_batch(
                [("create", ({"id": "2", "pk": pk},)), ("create", ({"id": "1", "pk": pk},))], pk
            )
        assert caught.value.error_index == 1
        assert [row["statusCode"] for row in caught.value.operation_responses] == [424, 409]


@asynchronous
async def test_feeds_and_queries(connect_async, database, wide_container):
    everything = sorted(f"i{n}" for n in range(100))
    async with connect_async() as client:
        items = await open_items(client, database, wide_container)
        for size in (9, 1000):
            feed = await collect(items.read_all_items(max_item_count=size))
            assert sorted(row["id"] for row in feed) == everything
            rows = await collect(items.query_items("SELECT * FROM c", max_item_count=size))
            assert sorted(row["id"] for row in rows) == everything
        one = await collect(items.query_items("SELECT VALUE c.n FROM c", partition_key="k7"))
        assert sorted(one) == [7, 57]
        pager = items.query_items("SELECT * FROM c WHERE c.n < 50", max_item_count=11).by_page()
        seen = [row["n"] async for row in await anext(pager)]
        rest = items.query_items("SELECT * FROM c WHERE c.n < 50", max_item_count=11)
        async for page in rest.by_page(pager.continuation_token):
            seen += [row["n"] async for row in page]
        assert sorted(seen) == list(range(50))
        assert len(await collect(items.read_feed_ranges())) == 3


@asynchronous
async def test_read_many(connect_async, database, wide_container):
    wanted = [(f"i{n}", f"k{n % 50}") for n in range(0, 100, 3)] + [("none", "k1")]
    async with connect_async() as client:
        items = await open_items(client, database, wide_container)
        found = await items.read_items(wanted)
        assert [row["id"] for row in found] == [name for name, _ in wanted[:-1]]


@asynchronous
async def test_prefix_of_a_hierarchical_key(connect_async, database, new_container):
    made = new_container(PartitionKey(["/a", "/b"], kind="MultiHash"), offer_throughput=12000)
    async with connect_async() as client:
        items = await open_items(client, database, made)
        for b in range(5):
            await items.create_item({"id": str(b), "a": "x", "b": b})
            await items.create_item({"id": str(b), "a": "y", "b": b})
        rows = await collect(items.query_items("SELECT * FROM c", partition_key=["x"]))
        assert sorted((row["a"], row["b"]) for row in rows) == [("x", b) for b in range(5)]


@asynchronous
async def test_delete_by_key(connect_async, database, new_container):
    made = new_container()
    async with connect_async() as client:
        items = await open_items(client, database, made)
        await items.create_item({"id": "1", "pk": "a"})
        await items.delete_all_items_by_partition_key("a")
        with pytest.raises(CosmosResourceNotFoundError):
            await items.read_item("1", "a")


@asynchronous
async def test_resource_token(server, connect_async, database, container, pk):
    container.create_item({"id": "1", "pk": pk})
    async with connect_async() as client:
        parent = client.get_database_client(database.id)
        user = await parent.create_user({"id": unique("user")})
        permission = await user.create_permission(
            {"id": "p", "permissionMode": "read", "resource": container.container_link}
        )
        token = {container.container_link: permission.properties["_token"]}
    async with CosmosClient(server.endpoint, token) as limited:
        items = await open_items(limited, database, container)
        assert (await items.read_item("1", pk))["id"] == "1"
        with pytest.raises(CosmosHttpResponseError) as caught:
            await items.delete_item("1", pk)
        assert caught.value.status_code == 403


@asynchronous
async def test_concurrent_writes(connect_async, database, container, pk):
    async with connect_async() as client:
        items = await open_items(client, database, container)
        made = await asyncio.gather(
            *(items.create_item({"id": str(n), "pk": pk}) for n in range(50))
        )
        assert len({row["_etag"] for row in made}) == 50
        wins = await asyncio.gather(
            *(items.create_item({"id": "race", "pk": pk}) for _ in range(10)),
            return_exceptions=True,
        )
        assert sum(not isinstance(row, Exception) for row in wins) == 1


@asynchronous
async def test_lost_updates_do_not_happen(connect_async, database, container, pk):
    container.create_item({"id": "1", "pk": pk, "n": 0})
    async with connect_async() as client:
        items = await open_items(client, database, container)
        increment = [{"op": "incr", "path": "/n", "value": 1}]
        await asyncio.gather(*(items.patch_item("1", pk, increment) for _ in range(20)))
        assert (await items.read_item("1", pk))["n"] == 20
