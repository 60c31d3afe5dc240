"""Scripts with the asynchronous client: the same calls, awaited."""

import asyncio

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError, CosmosResourceNotFoundError

from conftest import asynchronous
from test_scripts import COUNT, KINDS, Scripts
from test_triggers import mark


async def collect(rows):
    return [row async for row in rows]


@pytest.mark.parametrize("kind", KINDS)
@asynchronous
async def test_life_cycle(connect_async, database, new_container, kind):
    name = new_container().id
    async with connect_async() as client:
        scripts = Scripts(client.get_database_client(database.id).get_container_client(name), kind)
        made = await scripts.create(scripts.body("s1", "() => 1"))
        assert await scripts.get("s1") == made
        assert [row["id"] for row in await collect(scripts.list())] == ["s1"]
        found = scripts.query("SELECT * FROM r WHERE r.id = 's1'")
        assert [row["_rid"] for row in await collect(found)] == [made["_rid"]]
        replaced = await scripts.replace("s1", scripts.body("s1", "() => 2"))
        assert replaced["body"] == "() => 2"
        await scripts.delete("s1")
        with pytest.raises(CosmosResourceNotFoundError):
            await scripts.get("s1")


@asynchronous
async def test_runs(connect_async, database, new_container):
    name = new_container().id
    async with connect_async() as client:
        items = client.get_database_client(database.id).get_container_client(name)
        await items.scripts.create_stored_procedure({"id": "count", "body": COUNT})
        await items.create_item({"id": "counter", "pk": "p", "n": 0})
        runs = [items.scripts.execute_stored_procedure("count", partition_key="p") for _ in range(50)]
        assert sorted(await asyncio.gather(*runs)) == list(range(1, 51))
        echo = {"id": "echo", "body": "(...all) => { console.log('x'); __.response.setBody(all); }"}
        await items.scripts.create_stored_procedure(echo)
        told = await items.scripts.execute_stored_procedure(
            "echo", partition_key="p", parameters=["é", {"a": [1]}], enable_script_logging=True
        )
        assert told == ["é", {"a": [1]}]
        log = items.client_connection.last_response_headers["x-ms-documentdb-script-log-results"]
        assert log == "x"


@asynchronous
async def test_triggers_and_functions(connect_async, database, new_container):
    name = new_container(offer_throughput=18000).id
    async with connect_async() as client:
        items = client.get_database_client(database.id).get_container_client(name)
        settings = {"triggerType": "Pre", "triggerOperation": "All"}
        await items.scripts.create_trigger({"id": "a", "body": mark("a"), **settings})
        for n in range(20):
            item = {"id": str(n), "pk": str(n), "n": n}
            made = await items.create_item(item, pre_trigger_include="a")
            assert made["marks"] == "a"
        with pytest.raises(CosmosHttpResponseError, match="'b' does not exist"):
            await items.upsert_item({"id": "x", "pk": "x"}, post_trigger_include="b")
        odd = {"id": "odd", "body": "(n) => n % 2 === 1"}
        await items.scripts.create_user_defined_function(odd)
        query = "SELECT VALUE c.n FROM c WHERE udf.odd(c.n) ORDER BY c.n"
        assert await collect(items.query_items(query)) == list(range(1, 20, 2))
