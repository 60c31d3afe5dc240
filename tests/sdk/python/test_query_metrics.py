"""What a query tells of itself: metrics, the indexes that served it, and how far an index is."""

import time

import pytest
from azure.cosmos import PartitionKey

from conftest import asynchronous
from expect import Hook

METRICS = "x-ms-documentdb-query-metrics"
INDEXES = "x-ms-cosmos-index-utilization"
PROGRESS = "x-ms-documentdb-collection-index-transformation-progress"

POLICY = {
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": "/plain/*"}],
    "compositeIndexes": [[{"path": "/shelf"}, {"path": "/n", "order": "descending"}]],
}


@pytest.fixture(scope="module")
def thousand(database):
    """A thousand items of one key, ten on each of a hundred shelves."""
    made = database.create_container("metrics", PartitionKey("/pk"), indexing_policy=POLICY)
    fill(made)
    yield made
    database.delete_container(made.id)


def fill(container):
    for start in range(0, 1000, 100):
        items = [
            {"id": f"i{n}", "pk": "p", "n": n, "shelf": n % 100, "plain": n}
            for n in range(start, start + 100)
        ]
        container.execute_item_batch([("create", (item,)) for item in items], "p")


def ask(container, query, **options):
    hook = Hook()
    options = {"partition_key": "p", "populate_query_metrics": True, **options}
    rows = list(container.query_items(query, response_hook=hook, **options))
    return rows, hook.headers


def numbers(headers):
    pairs = (pair.split("=") for pair in headers[METRICS].split(";"))
    return {name: float(value) for name, value in pairs}


@pytest.mark.parametrize(
    "condition, read, given",
    [
        ("c.shelf = 7", 10, 10),
        ("c.n >= 100 AND c.n < 120", 20, 20),
        ("c.shelf IN (1, 2, 3)", 30, 30),
        ("c.plain = 7", 1000, 1),
        ("c.shelf + 1 = 8", 1000, 10),
        ("c.shelf = 777", 0, 0),
    ],
)
def test_an_index_spares_documents(thousand, condition, read, given):
    rows, headers = ask(thousand, f"SELECT * FROM c WHERE {condition}")
    assert len(rows) == given
    found = numbers(headers)
    assert found["retrievedDocumentCount"] == read
    assert found["outputDocumentCount"] == given
    assert (found["retrievedDocumentSize"] > 0) == (read > 0)
    assert (found["documentLoadTimeInMs"] > 0) == (read > 0)
    ratio = 1 if read == 0 else given / read
    assert found["indexUtilizationRatio"] == pytest.approx(ratio, abs=0.01)


def test_times_add_up(thousand):
    _, headers = ask(thousand, "SELECT * FROM c WHERE c.shelf = 7")
    found = numbers(headers)
    total = found.pop("totalExecutionTimeInMs")
    parts = sum(value for name, value in found.items() if name.endswith("InMs"))
    assert 0 < total == pytest.approx(parts, abs=0.01)


def test_an_order_reads_only_its_page(thousand):
    rows, headers = ask(thousand, "SELECT TOP 5 c.n FROM c ORDER BY c.n DESC")
    assert [row["n"] for row in rows] == [999, 998, 997, 996, 995]
    assert numbers(headers)["retrievedDocumentCount"] <= 6


def test_metrics_across_partitions(thousand):
    rows, headers = ask(
        thousand,
        "SELECT * FROM c WHERE c.shelf = 7",
        partition_key=None,
        enable_cross_partition_query=True,
    )
    assert len(rows) == 10
    assert numbers(headers)["retrievedDocumentCount"] == 10


def specs(indexes):
    return [entry.get("IndexSpec") or entry["IndexSpecs"] for entry in indexes]


def test_indexes_that_serve_and_that_would(thousand):
    query = "SELECT * FROM c WHERE c.shelf = 7 AND c.plain > 3"
    _, headers = ask(thousand, query, populate_index_metrics=True)
    found = headers[INDEXES]
    assert specs(found["UtilizedSingleIndexes"]) == ["/shelf/?", "/pk/?"]
    assert found["UtilizedSingleIndexes"][0]["IndexImpactScore"] == "High"
    assert specs(found["PotentialSingleIndexes"]) == ["/plain/?"]


def test_composite_indexes_are_named(thousand):
    query = "SELECT * FROM c WHERE c.shelf = 7 ORDER BY c.shelf, c.n DESC"
    _, headers = ask(thousand, query, populate_index_metrics=True)
    assert specs(headers[INDEXES]["UtilizedCompositeIndexes"]) == [["/shelf ASC", "/n DESC"]]


def test_indexes_are_named_without_rows_too(thousand):
    _, headers = ask(
        thousand, "SELECT * FROM c WHERE c.shelf = 777", populate_index_metrics=True
    )
    assert specs(headers[INDEXES]["UtilizedSingleIndexes"]) == ["/shelf/?", "/pk/?"]


def test_a_partition_key_is_an_index(thousand):
    _, headers = ask(thousand, "SELECT * FROM c", populate_index_metrics=True)
    assert specs(headers[INDEXES]["UtilizedSingleIndexes"]) == ["/pk/?"]


def test_nothing_is_told_unasked(thousand):
    _, headers = ask(
        thousand, "SELECT * FROM c WHERE c.shelf = 7", populate_query_metrics=False
    )
    assert METRICS not in headers and INDEXES not in headers


def test_a_policy_takes_effect_while_answers_stay_right(new_container, database):
    made = new_container()
    fill(made)
    policy = {"includedPaths": [{"path": "/other/?"}], "excludedPaths": [{"path": "/*"}]}
    database.replace_container(made.id, PartitionKey("/pk"), indexing_policy=policy)
    deadline = time.monotonic() + 60
    progress = 0
    while progress < 100:
        assert time.monotonic() < deadline
        rows, _ = ask(made, "SELECT VALUE c.n FROM c WHERE c.n >= 990")
        assert sorted(rows) == list(range(990, 1000))
        hook = Hook()
        made.read(populate_quota_info=True, response_hook=hook)
        progress = int(hook.headers[PROGRESS])
    _, headers = ask(made, "SELECT VALUE c.n FROM c WHERE c.n >= 990")
    assert numbers(headers)["retrievedDocumentCount"] == 1000


@asynchronous
async def test_asynchronous_clients_read_them_too(connect_async, database, thousand):
    async with connect_async() as client:
        container = client.get_database_client(database.id).get_container_client(thousand.id)
        hook = Hook()
        found = container.query_items(
            "SELECT * FROM c WHERE c.shelf = 7",
            partition_key="p",
            populate_query_metrics=True,
            populate_index_metrics=True,
            response_hook=hook,
        )
        assert len([row async for row in found]) == 10
        assert numbers(hook.headers)["retrievedDocumentCount"] == 10
        assert specs(hook.headers[INDEXES]["UtilizedSingleIndexes"]) == ["/shelf/?", "/pk/?"]
