"""A container that splits under a client that goes on with what it was doing."""

import threading

import pytest
from azure.cosmos import CosmosClient, PartitionKey

import orrery_server
from changes import OPEN, changes, ids, pages, split
from conftest import unique

KEYS = 30


def fill(container, count=90):
    for n in range(count):
        container.create_item({"id": f"i{n:03}", "pk": f"k{n % KEYS}", "n": n})
    return [f"i{n:03}" for n in range(count)]


def noting(statuses):
    """A hook that shows that the client was told of the split."""
    return lambda response: statuses.append(response.http_response.status_code)


@pytest.fixture
def narrow(server, database):
    """One physical partition, in a client of its own."""
    name = unique("split")
    with CosmosClient(server.endpoint, server.key) as client:
        parent = client.get_database_client(database.id)
        yield parent.create_container(name, PartitionKey("/pk"), offer_throughput=400)
    database.delete_container(name)


def test_ranges_tile_and_name_their_parents(server, narrow):
    split(server, narrow)
    found = [row["Range"] for row in narrow.read_feed_ranges(force_refresh=True)]
    bounds = sorted((row["min"], row["max"]) for row in found)
    assert bounds[0][0] == "" and bounds[-1][1] == "FF"
    assert all(one[1] == two[0] for one, two in zip(bounds, bounds[1:]))
    assert narrow.get_throughput().offer_throughput == 25000


def test_an_open_feed_goes_on(server, narrow):
    everything = fill(narrow)
    statuses = []
    pager = narrow.query_items_change_feed(
        start_time="Beginning", max_item_count=7, raw_response_hook=noting(statuses)
    ).by_page()
    seen = [row for _ in range(4) for row in next(pager)]
    split(server, narrow)
    seen += next(pager)
    assert 410 in statuses
    late = [narrow.create_item({"id": f"late{n}", "pk": f"k{n}"})["id"] for n in range(KEYS)]
    narrow.upsert_item({"id": seen[0]["id"], "pk": seen[0]["pk"], "n": -1})
    seen += [row for page in pager for row in page]
    assert sorted(ids(seen)) == sorted(everything + late + [seen[0]["id"]])
    assert [row["n"] for row in seen if row["id"] == seen[0]["id"]] == [seen[0]["n"], -1]


def test_a_kept_continuation_goes_on(server, narrow):
    everything = fill(narrow)
    before, continuation = pages(narrow, start_time="Beginning", max_item_count=50)
    of_key = changes(narrow, start_time="Beginning", partition_key="k3")[1]
    whole = list(narrow.read_feed_ranges())[0]
    of_range = changes(narrow, start_time="Beginning", feed_range=whole)[1]
    split(server, narrow)
    late = [narrow.create_item({"id": f"late{n}", "pk": f"k{n}"})["id"] for n in range(KEYS)]
    assert sorted(row["id"] for page in before for row in page) == everything
    for place in (continuation, of_range):
        found, after = changes(narrow, continuation=place, max_item_count=4)
        assert sorted(ids(found)) == sorted(late)
        assert changes(narrow, continuation=after)[0] == []
    assert ids(changes(narrow, continuation=of_key)[0]) == ["late3"]
    found, _ = changes(narrow, start_time="Beginning", feed_range=whole, max_item_count=7)
    assert sorted(ids(found)) == sorted(everything + late)


@pytest.mark.parametrize("query, check, options", OPEN)
def test_an_open_query_goes_on(server, narrow, query, check, options):
    fill(narrow)
    pager = narrow.query_items(query, max_item_count=7, **options).by_page()
    seen = [row for _ in range(3) for row in next(pager)]
    split(server, narrow)
    seen += [row for page in pager for row in page]
    check(seen)


@pytest.mark.parametrize("query", ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"])
def test_an_open_query_of_a_feed_range_starts_again(server, narrow, query):
    """A choice of the SDK, once it learns the new ranges: a continuation of one is not one of several."""
    everything = fill(narrow)
    (whole,) = narrow.read_feed_ranges()
    statuses = []
    pager = narrow.query_items(
        query, feed_range=whole, max_item_count=7, raw_response_hook=noting(statuses)
    ).by_page()
    seen = [row["id"] for _ in range(3) for row in next(pager)]
    split(server, narrow)
    again = [row["id"] for page in pager for row in page]
    assert len(seen) == 21 and sorted(again[-len(everything) :]) == everything
    assert 410 not in statuses


def test_queries_after_a_split(server, narrow):
    everything = fill(narrow)
    count = "SELECT VALUE COUNT(1) FROM c"
    assert list(narrow.query_items(count, enable_cross_partition_query=True)) == [90]
    split(server, narrow)
    assert list(narrow.query_items(count, enable_cross_partition_query=True)) == [90]
    ordered = "SELECT VALUE c.id FROM c ORDER BY c.n"
    assert list(narrow.query_items(ordered, enable_cross_partition_query=True)) == everything
    assert len(list(narrow.query_items("SELECT * FROM c", partition_key="k3"))) == 3
    assert len(list(narrow.read_all_items(max_item_count=7))) == 90


def test_read_items_after_a_split(server, narrow):
    fill(narrow)
    wanted = [(f"i{n:03}", f"k{n % KEYS}") for n in range(0, 90, 3)] + [("none", "k1")]
    before = narrow.read_items(wanted)
    split(server, narrow)
    assert narrow.read_items(wanted) == before
    assert ids(before) == [name for name, _ in wanted[:-1]]


def test_readers_and_writers_notice_nothing(server, narrow):
    """Every thread reads its own writes, before, during and after the split."""
    fill(narrow)
    stop, errors, written = threading.Event(), [], []

    def work(number):
        n = 0
        try:
            while not stop.is_set() or n < 20:
                item = {"id": f"w{number}-{n}", "pk": f"k{n % KEYS}", "n": n}
                narrow.create_item(item)
                assert narrow.read_item(item["id"], item["pk"])["n"] == n
                changed = narrow.upsert_item({**item, "n": -n})
                read = narrow.read_item(item["id"], item["pk"])
                assert read["_etag"] == changed["_etag"]
                count = "SELECT VALUE COUNT(1) FROM c WHERE c.id = @id"
                parameters = [{"name": "@id", "value": item["id"]}]
                rows = narrow.query_items(count, parameters=parameters, partition_key=item["pk"])
                assert list(rows) == [1]
                written.append(item["id"])
                n += 1
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    try:
        split(server, narrow)
    finally:
        stop.set()
        for worker in workers:
            worker.join(60)
    assert errors == []
    assert len(written) == len(set(written)) >= 60
    found, _ = changes(narrow, start_time="Beginning")
    assert sorted(ids(found)) == sorted(written + [f"i{n:03}" for n in range(90)])


def test_session_tokens_from_before_the_split(server, database, narrow):
    item = narrow.create_item({"id": "1", "pk": "a", "n": 1})
    token = item.get_response_headers()["x-ms-session-token"]
    split(server, narrow)
    assert narrow.read_item("1", "a", session_token=token) == item
    with CosmosClient(server.endpoint, server.key) as fresh:
        same = fresh.get_database_client(database.id).get_container_client(narrow.id)
        assert same.read_item("1", "a", session_token=token) == item
        rows = same.query_items("SELECT * FROM c", partition_key="a", session_token=token)
        assert list(rows) == [item]
        changed = narrow.upsert_item({"id": "1", "pk": "a", "n": 2})
        token = changed.get_response_headers()["x-ms-session-token"]
        assert same.read_item("1", "a", session_token=token)["n"] == 2


def test_hierarchical_keys(server, database):
    name = unique("split")
    key = PartitionKey(["/a", "/b"], kind="MultiHash")
    made = database.create_container(name, key, offer_throughput=400)
    for n in range(40):
        made.create_item({"id": str(n), "a": f"a{n % 4}", "b": n})
    query = made.query_items("SELECT * FROM c", partition_key=["a1"], max_item_count=3).by_page()
    seen = ids(next(query))
    _, continuation = changes(made, start_time="Beginning", partition_key=["a1"])
    split(server, made)
    seen += [row["id"] for page in query for row in page]
    assert sorted(seen, key=int) == [str(n) for n in range(1, 40, 4)]
    made.create_item({"id": "late", "a": "a1", "b": 0})
    assert ids(changes(made, continuation=continuation)[0]) == ["late"]
    assert made.read_item("39", ["a3", 39])["id"] == "39"
    database.delete_container(name)


def test_after_a_restart(tmp_path):
    server = orrery_server.start(data=tmp_path)
    with CosmosClient(server.endpoint, server.key) as client:
        database = client.create_database("db")
        made = database.create_container("c", PartitionKey("/pk"), offer_throughput=400)
        everything = fill(made)
        _, continuation = changes(made, start_time="Beginning")
        split(server, made)
        token = made.upsert_item({"id": "late", "pk": "k1"}).get_response_headers()
        ranges = list(made.read_feed_ranges(force_refresh=True))
    server.kill()

    server = orrery_server.start(data=tmp_path)
    with CosmosClient(server.endpoint, server.key) as client:
        made = client.get_database_client("db").get_container_client("c")
        assert list(made.read_feed_ranges()) == ranges
        assert ids(changes(made, continuation=continuation)[0]) == ["late"]
        read = made.read_item("late", "k1", session_token=token["x-ms-session-token"])
        assert read["id"] == "late"
        found, _ = changes(made, start_time="Beginning", max_item_count=11)
        assert sorted(ids(found)) == sorted(everything + ["late"])
        assert len(list(made.read_all_items())) == 91
    server.stop()


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_an_order_of_long_values_goes_on(server, narrow, direction):
    """The values begin alike and are longer than the tokens of the server."""
    for n in range(KEYS):
        narrow.create_item({"id": f"i{n}", "pk": f"k{n}", "l": "x" * 3000 + f"{n:03}"})
    query = f"SELECT VALUE c.l FROM c ORDER BY c.l {direction}"
    options = {"enable_cross_partition_query": True, "max_item_count": 4}
    pages = narrow.query_items(query, continuation_token_limit=1, **options).by_page()
    seen = [row for _ in range(3) for row in next(pages)]
    split(server, narrow)
    for page in pages:
        seen += page
        assert len(seen) <= KEYS, "rows repeat"
    numbers = [int(row[3000:]) for row in seen]
    assert numbers == sorted(range(KEYS), reverse=direction == "DESC")
