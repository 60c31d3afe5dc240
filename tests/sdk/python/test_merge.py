"""Physical partitions that are split and merged when asked, under a client that goes on."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from changes import OPEN, changes, ids
from conftest import unique
from operators import operate, partition_ids

KEYS = 30


@pytest.fixture
def halved(server, database):
    """Two physical partitions that one could be, with items in both."""
    name = unique("merge")
    with CosmosClient(server.endpoint, server.key) as client:
        parent = client.get_database_client(database.id)
        made = parent.create_container(name, PartitionKey("/pk"), offer_throughput=400)
        for n in range(90):
            made.create_item({"id": f"i{n:03}", "pk": f"k{n % KEYS}", "n": n})
        operate(server, made, {"split": {"id": "0"}})
        assert len(partition_ids(server, made)) == 2
        yield made
    database.delete_container(name)


def everything():
    return [f"i{n:03}" for n in range(90)]


def merge(server, container):
    operate(server, container, {"merge": partition_ids(server, container)})
    assert len(partition_ids(server, container)) == 1


@pytest.mark.parametrize("query, check, options", OPEN)
@pytest.mark.parametrize("before", [1, 3, 8])
def test_an_open_query_goes_on(server, halved, query, check, options, before):
    pager = halved.query_items(query, max_item_count=7, **options).by_page()
    seen = [row for _ in range(before) for row in next(pager, [])]
    merge(server, halved)
    seen += [row for page in pager for row in page]
    check(seen)


@pytest.mark.parametrize("before", [1, 4, 9])
def test_an_open_feed_goes_on(server, halved, before):
    pager = halved.query_items_change_feed(start_time="Beginning", max_item_count=7).by_page()
    seen = [row for _ in range(before) for row in next(pager)]
    merge(server, halved)
    late = [halved.create_item({"id": f"late{n}", "pk": f"k{n}"})["id"] for n in range(KEYS)]
    seen += [row for page in pager for row in page]
    assert sorted(ids(seen)) == sorted(everything() + late)


def test_a_kept_continuation_and_a_session_go_on(server, halved):
    _, continuation = changes(halved, start_time="Beginning")
    ranges = list(halved.read_feed_ranges(force_refresh=True))
    of_ranges = [changes(halved, start_time="Beginning", feed_range=part)[1] for part in ranges]
    written = halved.upsert_item({"id": "i003", "pk": "k3", "n": -1})
    token = written.get_response_headers()["x-ms-session-token"]
    merge(server, halved)
    assert halved.read_item("i003", "k3", session_token=token)["n"] == -1
    late = [halved.create_item({"id": f"late{n}", "pk": f"k{n}"})["id"] for n in range(KEYS)]
    assert sorted(ids(changes(halved, continuation=continuation)[0])) == sorted(["i003"] + late)
    of_parts = [row for place in of_ranges for row in ids(changes(halved, continuation=place)[0])]
    assert sorted(of_parts) == sorted(["i003"] + late)


def test_again_and_again(server, halved):
    count = "SELECT VALUE COUNT(1) FROM c"
    for _ in range(4):
        merge(server, halved)
        assert list(halved.query_items(count, enable_cross_partition_query=True)) == [90]
        (whole,) = partition_ids(server, halved)
        operate(server, halved, {"split": {"id": whole}})
        assert list(halved.query_items(count, enable_cross_partition_query=True)) == [90]
    assert sorted(ids(changes(halved, start_time="Beginning", max_item_count=11)[0])) == everything()
