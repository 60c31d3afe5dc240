"""Items that a write leaves out of the index, as Microsoft's sample of index management has them."""

import time

import pytest

from expect import sending

PROGRESS = "x-ms-documentdb-collection-index-transformation-progress"
BY_ORDER = "SELECT * FROM c WHERE c.orderId = @order"
MANUAL = {"indexingMode": "consistent", "automatic": False}


def names(container, query, order=None, **options):
    parameters = [{"name": "@order", "value": order}] if order else None
    options = {"enable_cross_partition_query": True, **options}
    return [row["id"] for row in container.query_items(query, parameters=parameters, **options)]


def write(container, name, order, **options):
    container.create_item({"id": name, "pk": name, "orderId": order}, **options)


@pytest.fixture
def automatic(new_container):
    made = new_container()
    write(made, "doc1", "order1")
    write(made, "doc2", "order2", indexing_directive="Exclude")
    return made


@pytest.fixture
def manual(new_container):
    made = new_container(indexing_policy=MANUAL)
    write(made, "doc2", "order2")
    write(made, "doc1", "order1", indexing_directive="Include")
    return made


@pytest.fixture(params=["automatic", "manual"])
def orders(request):
    """`doc1` is in the index, `doc2` is not."""
    return request.getfixturevalue(request.param)


def test_a_filter_finds_only_indexed_items(orders):
    assert names(orders, BY_ORDER, "order1") == ["doc1"]
    assert names(orders, BY_ORDER, "order2") == []
    assert orders.read_item("doc2", "doc2")["orderId"] == "order2"


@pytest.mark.parametrize(
    "filter",
    [
        "c.orderId >= 'order'",
        "c.orderId != 'order'",
        "NOT IS_DEFINED(c.absent)",
        "UPPER(c.orderId) = 'ORDER1' OR UPPER(c.orderId) = 'ORDER2'",
        "c.id IN ('doc1', 'doc2')",
        "c._ts > 0",
    ],
)
def test_every_kind_of_filter(orders, filter):
    query = f"SELECT * FROM c WHERE {filter}"
    assert names(orders, query) == ["doc1"]
    assert sorted(names(orders, query, enable_scan_in_query=True)) == ["doc1", "doc2"]


def test_a_scan_finds_all_items(orders):
    assert names(orders, BY_ORDER, "order2", enable_scan_in_query=True) == ["doc2"]
    assert sorted(names(orders, "SELECT * FROM c")) == ["doc1", "doc2"]
    assert sorted(row["id"] for row in orders.read_all_items()) == ["doc1", "doc2"]
    count = orders.query_items("SELECT VALUE COUNT(1) FROM c", enable_cross_partition_query=True)
    assert list(count) == [2]


def test_an_order_and_an_aggregate_read_the_index(orders):
    assert names(orders, "SELECT * FROM c ORDER BY c.orderId") == ["doc1"]
    of_key = {"partition_key": "doc2"}
    least = "SELECT VALUE COUNT(1) FROM c WHERE c.orderId > 'a'"
    assert list(orders.query_items(least, **of_key)) == [0]
    assert list(orders.query_items(least, enable_scan_in_query=True, **of_key)) == [1]


def test_the_next_write_decides_again(orders):
    item = {"id": "doc2", "pk": "doc2", "orderId": "order2"}
    for directive, found in (("Include", ["doc2"]), ("Exclude", [])):
        orders.upsert_item(item, **sending("x-ms-indexing-directive", directive))
        assert names(orders, BY_ORDER, "order2") == found


def test_items_from_before_there_was_an_index(new_container, database):
    """A container without an index leaves nothing out: a policy that indexes finds every item."""
    made = new_container(indexing_policy={"indexingMode": "none", "automatic": False})
    write(made, "doc1", "order1")
    database.replace_container(made.id, made.read()["partitionKey"], indexing_policy={})
    while True:
        made.read(populate_quota_info=True)
        headers = made.client_connection.last_response_headers
        if headers.get(PROGRESS) == "100":
            break
        time.sleep(0.05)
    assert names(made, BY_ORDER, "order1") == ["doc1"]
