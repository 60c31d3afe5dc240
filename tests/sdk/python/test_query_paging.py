"""Pages of a query, and continuing from their tokens in a client that never saw the first page."""

import pytest
from azure.cosmos import CosmosClient

from expect import failure
from mixed import HOT_KEY, PAGE_SIZES, in_every_page_size, pages, rows

QUERIES = [
    "SELECT * FROM c",
    "SELECT * FROM c WHERE c.g = 'g1'",
    "SELECT VALUE c.v FROM c",
    "SELECT * FROM c ORDER BY c.v",
    "SELECT c.id, c.v FROM c ORDER BY c.v DESC",
    "SELECT VALUE c.n FROM c ORDER BY c.g",
    "SELECT TOP 50 VALUE c.n FROM c ORDER BY c.g DESC",
    "SELECT TOP 50 VALUE c.n FROM c",
    "SELECT VALUE c.n FROM c OFFSET 13 LIMIT 40",
    "SELECT VALUE c.n FROM c ORDER BY c.v OFFSET 13 LIMIT 40",
    "SELECT DISTINCT VALUE c.v FROM c",
    "SELECT DISTINCT VALUE c.v FROM c ORDER BY c.v",
    "SELECT c.v, COUNT(1) AS n FROM c GROUP BY c.v",
    "SELECT c.n, t.name FROM c JOIN t IN c.tags",
    "SELECT c.n, t.name FROM c JOIN t IN c.tags ORDER BY c.g DESC",
    "SELECT VALUE t FROM t IN c.tags",
]
EVERY_QUERY = pytest.mark.parametrize("query", QUERIES)
SCOPES = pytest.mark.parametrize(
    "scope",
    [{"enable_cross_partition_query": True}, {"partition_key": HOT_KEY}],
    ids=["container", "key"],
)


@pytest.fixture
def reconnect(server, mixed_container, database):
    """The same container through a client of its own, each time."""
    opened = []

    def connect():
        opened.append(CosmosClient(server.endpoint, server.key))
        fresh = opened[-1].get_database_client(database.id)
        return fresh.get_container_client(mixed_container.id)

    yield connect
    for client in opened:
        client.close()


@SCOPES
@EVERY_QUERY
def test_page_size_changes_nothing(mixed_container, query, scope):
    assert in_every_page_size(mixed_container, query, **scope)


@SCOPES
@EVERY_QUERY
def test_token_continues_in_another_client(mixed_container, reconnect, query, scope):
    expected = rows(mixed_container, query, **scope)
    feed = mixed_container.query_items(query, max_item_count=3, **scope).by_page()
    seen = []
    for _ in range(2):
        seen += list(next(feed))
    assert feed.continuation_token
    assert len(feed.continuation_token) <= 1024
    seen += rows(reconnect(), query, 5, token=feed.continuation_token, **scope)
    assert seen == expected


@SCOPES
def test_every_page_in_another_client(mixed_container, reconnect, scope):
    query = "SELECT VALUE c.n FROM c ORDER BY c.v DESC"
    seen, token = [], None
    while True:
        feed = reconnect().query_items(query, max_item_count=40, **scope).by_page(token)
        seen += list(next(feed))
        token = feed.continuation_token
        if not token:
            break
    assert seen == rows(mixed_container, query, **scope)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_pages_of_an_order_are_full(mixed_container, size):
    found = pages(mixed_container, "SELECT VALUE c.n FROM c ORDER BY c.n", size)
    sizes = [len(page) for page in found if page]
    assert sizes[:-1] == [size] * (len(sizes) - 1)


def test_parameters_stay_with_the_token(mixed_container, reconnect):
    query = "SELECT VALUE c.n FROM c WHERE c.n >= @low ORDER BY c.n"
    options = {
        "parameters": [{"name": "@low", "value": 100}],
        "enable_cross_partition_query": True,
        "max_item_count": 50,
    }
    feed = mixed_container.query_items(query, **options).by_page()
    seen = list(next(feed))
    for page in reconnect().query_items(query, **options).by_page(feed.continuation_token):
        seen += list(page)
    assert seen == list(range(100, 300))


@SCOPES
@pytest.mark.parametrize("token", ["not a token", "{}", "[]", "AAAA", "1"])
@pytest.mark.parametrize("query", ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.v"])
def test_broken_token(mixed_container, query, token, scope):
    with failure(400):
        rows(mixed_container, query, token=token, **scope)
