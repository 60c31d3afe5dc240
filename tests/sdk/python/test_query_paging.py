"""Pages of a query, and continuing from their tokens in a client that never saw the first page."""

import pytest
from azure.cosmos import CosmosClient

from conftest import asynchronous
from expect import failure
from mixed import HOT_KEY, MERGED, PAGE_SIZES, WHOLE, in_every_page_size, order_key, pages, rows

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
# No partition waits for another one, so the server answers them over all of them.
STREAMED = [
    "SELECT * FROM c",
    "SELECT * FROM c WHERE c.g = 'g1'",
    "SELECT VALUE c.v FROM c",
    "SELECT c.n, t.name FROM c JOIN t IN c.tags",
    "SELECT VALUE t FROM t IN c.tags",
]
# The client merges them: one type in the order, no groups.
CLIENT_MERGED = [
    "SELECT VALUE c.n FROM c ORDER BY c.n",
    "SELECT VALUE c.n FROM c ORDER BY c.g",
    "SELECT TOP 50 VALUE c.n FROM c ORDER BY c.n DESC",
    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 13 LIMIT 40",
    "SELECT DISTINCT VALUE c.g FROM c",
    "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g",
    "SELECT c.n, t.name FROM c JOIN t IN c.tags ORDER BY c.g DESC",
]
EVERY_QUERY = pytest.mark.parametrize("query", QUERIES)
SCOPES = pytest.mark.parametrize(
    "scope",
    [WHOLE, {"partition_key": HOT_KEY}],
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


@pytest.mark.parametrize("query", STREAMED)
def test_token_continues_where_the_client_does_not_merge(mixed_container, reconnect, query):
    expected = in_every_page_size(mixed_container, query, **MERGED)
    assert expected == rows(mixed_container, query)
    feed = mixed_container.query_items(query, max_item_count=3, **MERGED).by_page()
    seen = list(next(feed)) + list(next(feed))
    seen += rows(reconnect(), query, 5, token=feed.continuation_token, **MERGED)
    assert seen == expected


@pytest.mark.parametrize("query", CLIENT_MERGED)
def test_page_size_changes_nothing_where_the_client_merges(mixed_container, query):
    merged = in_every_page_size(mixed_container, query, **MERGED)
    assert sorted(merged, key=order_key) == sorted(rows(mixed_container, query), key=order_key)


@pytest.mark.parametrize("query", CLIENT_MERGED)
def test_a_merge_does_not_go_on_from_the_token_of_one_range(mixed_container, reconnect, query):
    """The client would send it to every range, and rows would be missing without a word."""
    feed = mixed_container.query_items(query, max_item_count=1, **MERGED).by_page()
    next(feed)
    assert feed.continuation_token
    with failure(400, sub_status=0, message="your SDK merges the rows of this query"):
        rows(reconnect(), query, 5, token=feed.continuation_token, **MERGED)


@asynchronous
async def test_asynchronous_clients_merge_alike(connect_async, database, mixed_container):
    aggregates = ["SELECT VALUE COUNT(1) FROM c", "SELECT VALUE MAX(c.nobody) FROM c"]
    async with connect_async() as client:
        items = client.get_database_client(database.id).get_container_client(mixed_container.id)
        for query in [*STREAMED, *CLIENT_MERGED, *aggregates]:
            expected = rows(mixed_container, query, **MERGED)
            for size in PAGE_SIZES:
                found = [row async for row in items.query_items(query, max_item_count=size)]
                assert found == expected, f"{query} in pages of {size}"


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
        "max_item_count": 50,
        **WHOLE,
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


OF_THE_SERVICE = [
    "-RID:~Ab0BAKpcUgMCAAAAAAAAAA==#RT:1#TRC:2#ISV:2#IEO:65567#QCF:8",
    "+RIDLEL:~Ab0BAKpcUgMCAAAAAAAAAA==#RT:1#TRC:2#ISV:2#IEO:65567#QCF:8#FPC:AgEAAFFFAAHA+AI=",
    '{"token":"-RID:~Ab0BAKpcUgMCAAAAAAAAAA==#RT:1#TRC:2","range":{"min":"","max":"FF"}}',
    '[{"token":"-RID:~Ab0BAKpcUgMCAAAAAAAAAA==#RT:1#TRC:2","range":{"min":"","max":"FF"}}]',
]


@SCOPES
@pytest.mark.parametrize("token", OF_THE_SERVICE, ids=["token", "element", "range", "ranges"])
def test_token_that_the_service_made(mixed_container, token, scope):
    with failure(400, message="Azure Cosmos DB made this token"):
        rows(mixed_container, "SELECT * FROM c", token=token, **scope)
