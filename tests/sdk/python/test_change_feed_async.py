"""The change feed and splits with the asynchronous client."""

import asyncio

import pytest
from azure.cosmos import PartitionKey

from changes import split
from conftest import asynchronous, unique
from expect import sending
from test_change_feed_all_versions import MODE, POLICY, summary


async def pages(container, **options):
    pager = container.query_items_change_feed(**options).by_page()
    found = [[row async for row in page] async for page in pager]
    return found, container.client_connection.last_response_headers["etag"]


async def changes(container, **options):
    found, continuation = await pages(container, **options)
    return [row for page in found for row in page], continuation


def ids(rows):
    return sorted(row["id"] for row in rows)


def opened(client, database, container):
    return client.get_database_client(database.id).get_container_client(container.id)


async def fill(container, count=40):
    items = [{"id": f"i{n:02}", "pk": f"k{n % 10}", "n": n} for n in range(count)]
    for item in items:
        await container.create_item(item)
    return ids(items)


@pytest.fixture
def narrow(database):
    name = unique("async")
    yield database.create_container(name, PartitionKey("/pk"), offer_throughput=400)
    database.delete_container(name)


@asynchronous
async def test_scopes_and_starts(connect_async, database, new_container):
    made = new_container(offer_throughput=18000)
    async with connect_async() as client:
        items = opened(client, database, made)
        _, now = await changes(items, start_time="Now")
        everything = await fill(items)
        for size in (1, 7, 100):
            found, _ = await pages(items, start_time="Beginning", max_item_count=size)
            assert all(len(page) <= size for page in found)
            assert ids(row for page in found for row in page) == everything
        in_key, _ = await changes(items, start_time="Beginning", partition_key="k3")
        assert [row["n"] for row in in_key] == [3, 13, 23, 33]
        parts = []
        async for part in items.read_feed_ranges():
            found, _ = await changes(items, start_time="Beginning", feed_range=part)
            parts += found
        assert ids(parts) == everything
        assert ids((await changes(items, continuation=now))[0]) == everything


@asynchronous
async def test_continuation_outlives_the_client(connect_async, database, narrow):
    async with connect_async() as client:
        everything = await fill(opened(client, database, narrow))
    seen, where = [], {"start_time": "Beginning"}
    while True:
        async with connect_async() as client:
            items = opened(client, database, narrow)
            pager = items.query_items_change_feed(max_item_count=9, **where).by_page()
            page = await anext(pager, None)
            if page is None:
                break
            seen += [row async for row in page]
            where = {"continuation": pager.continuation_token}
    assert ids(seen) == everything


@asynchronous
async def test_all_versions(connect_async, database, new_container):
    made = new_container(change_feed_policy=POLICY)
    async with connect_async() as client:
        items = opened(client, database, made)
        _, continuation = await changes(items, start_time="Now", mode=MODE)
        await items.create_item({"id": "1", "pk": "a", "n": 1})
        await items.upsert_item({"id": "1", "pk": "a", "n": 2})
        await items.delete_item("1", "a")
        found, _ = await changes(items, continuation=continuation)
        assert [summary(change) for change in found] == [
            ("create", "1", 1),
            ("replace", "1", 2),
            ("delete", "1", 2),
        ]


@asynchronous
async def test_an_open_feed_and_queries_across_a_split(server, connect_async, database, narrow):
    async with connect_async() as client:
        items = opened(client, database, narrow)
        everything = await fill(items)
        feed = items.query_items_change_feed(start_time="Beginning", max_item_count=6).by_page()
        plain = items.query_items("SELECT * FROM c", max_item_count=6).by_page()
        # A client that merges reads a range that has split from its beginning again, so the server merges here.
        whole = sending("x-orrery-whole-query", "True")
        ordered = items.query_items("SELECT * FROM c ORDER BY c.n", max_item_count=6, **whole).by_page()
        seen = [[row["id"] async for row in await anext(p)] for p in (feed, plain, ordered)]
        await asyncio.to_thread(split, server, narrow)
        for rows, pager in zip(seen, (feed, plain, ordered)):
            rows += [row["id"] async for page in pager async for row in page]
        assert [sorted(rows) for rows in seen] == [everything] * 3
        assert seen[2] == everything


@asynchronous
async def test_readers_and_writers_notice_nothing(server, connect_async, database, narrow):
    async with connect_async() as client:
        items = opened(client, database, narrow)
        stop = asyncio.Event()

        async def work(number):
            n = 0
            while not stop.is_set() or n < 20:
                item = {"id": f"w{number}-{n}", "pk": f"k{n % 10}", "n": n}
                made = await items.create_item(item)
                assert await items.read_item(item["id"], item["pk"]) == made
                n += 1
            return [f"w{number}-{m}" for m in range(n)]

        workers = [asyncio.create_task(work(number)) for number in range(4)]
        try:
            await asyncio.to_thread(split, server, narrow)
        finally:
            stop.set()
        written = [name for names in await asyncio.gather(*workers) for name in names]
        found, _ = await changes(items, start_time="Beginning")
        assert ids(found) == sorted(written)
        wanted = [(row["id"], row["pk"]) for row in found[::3]]
        many = await items.read_items(wanted)
        assert [row["id"] for row in many] == [name for name, _ in wanted]
