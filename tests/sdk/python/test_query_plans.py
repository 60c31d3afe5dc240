"""Queries over several partition keys that the client has to merge: refused with the plan, then carried out by the client."""

import json

import pytest

import orrery_server
from azure.core.pipeline.transport import RequestsTransport
from azure.cosmos import CosmosClient, PartitionKey

from conftest import unique
from expect import failure, sending
from mixed import WHOLE

EVERYWHERE = {"enable_cross_partition_query": True}


def statuses_of(container, query, **options):
    """The rows, and the statuses of the answers to queries and plan requests on the way."""
    seen = []

    def note(response):
        if response.http_request.method == "POST":
            seen.append(response.http_response.status_code)

    options = {**EVERYWHERE, **options}
    return list(container.query_items(query, raw_response_hook=note, **options)), seen


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SELECT VALUE COUNT(1) FROM c", [100]),
        ("SELECT VALUE SUM(c.n) FROM c", [4950]),
        ("SELECT VALUE AVG(c.n) FROM c", [49.5]),
        ("SELECT VALUE MAX(c.absent) FROM c", [None]),
        ("SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 2", [98, 97]),
        ("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n", [0, 1]),
        ("SELECT DISTINCT VALUE c.even FROM c ORDER BY c.even", [False, True]),
    ],
)
def test_the_client_merges(wide_container, query, expected):
    rows, statuses = statuses_of(wide_container, query)
    assert rows == expected
    assert statuses[0] == 400 and set(statuses[1:]) == {200}


def test_direct_execution_is_for_one_range(wide_container):
    """A client that sends the query as it is takes what one range answers for the whole, and merges several itself."""
    seen = []

    def ask(request):
        request.http_request.headers["x-ms-cosmos-query-optimisticdirectexecute"] = "True"

    def note(response):
        headers = response.http_response.headers
        requires = headers.get("x-ms-cosmos-query-requiresdistribution")
        seen.append((response.http_response.status_code, requires))

    query = "SELECT VALUE COUNT(1) FROM c"
    options = {"raw_request_hook": ask, "raw_response_hook": note}
    first = next(iter(wide_container.read_feed_ranges()))
    (count,) = wide_container.query_items(query, feed_range=first, **options)
    assert 0 < count < 100
    assert seen == [(200, "False")]
    seen.clear()
    assert list(wide_container.query_items(query, **EVERYWHERE, **options)) == [100]
    assert seen[0] == (400, None)


@pytest.mark.parametrize(
    "query, options",
    [
        ("SELECT VALUE c.n FROM c WHERE c.even", {}),
        ("SELECT VALUE x FROM c JOIN x IN c.absent", {}),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'k7'", {}),
        ("SELECT VALUE COUNT(1) FROM c WHERE false", {}),
        ("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.even FROM c)", {}),
        ("SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk", {"partition_key": "k7"}),
        ("SELECT VALUE c.n FROM c ORDER BY c.n", {"partition_key": "k7"}),
    ],
)
def test_what_needs_no_merge_is_answered_at_once(wide_container, query, options):
    _, statuses = statuses_of(wide_container, query, **options)
    assert set(statuses) == {200}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(1) FROM c",
        "SELECT MIN(c.n) AS low, MAX(c.n) AS high FROM c",
        "SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk",
    ],
)
def test_aggregates_without_value_are_refused_without_a_plan(wide_container, query):
    message = "Cross partition query only supports 'VALUE <AggregateFunc>' for aggregates"
    with failure(400, sub_status=0, message=message) as caught:
        statuses_of(wide_container, query)
    assert "additionalErrorInfo" not in json.loads(caught.value.http_error_message)


def test_a_plan_beyond_the_client_is_refused(wide_container):
    message = "the calling client does not support"
    with failure(400, sub_status=1004, message=message) as caught:
        statuses_of(wide_container, "SELECT VALUE c.pk FROM c GROUP BY c.pk")
    assert "GroupBy" in str(caught.value)


def test_compositions_of_aggregates_are_refused(wide_container):
    with failure(400, sub_status=0, message="Compositions of aggregates"):
        statuses_of(wide_container, "SELECT VALUE COUNT(1) + 5 FROM c")


class Counting(RequestsTransport):
    """Keeps what each request for rows or a plan was, and its status; response hooks see no plans."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def send(self, request, **options):
        response = super().send(request, **options)
        if request.method == "POST":
            is_plan = "x-ms-cosmos-is-query-plan-request" in request.headers
            self.seen.append(("plan" if is_plan else "rows", response.status_code))
        return response


@pytest.mark.parametrize("size", [10, 25, 1000])
@pytest.mark.parametrize("query", ["SELECT * FROM c ORDER BY c.n", "SELECT DISTINCT c.n FROM c"])
def test_a_large_answer(server, database, wide_container, query, size):
    """It costs the refusal, the plan, and the full pages of each range with what is left over."""
    ranges = list(wide_container.read_feed_ranges())
    counts = [
        list(wide_container.query_items("SELECT VALUE COUNT(1) FROM c", feed_range=one))[0]
        for one in ranges
    ]
    assert sum(counts) == 100
    transport = Counting()
    with CosmosClient(server.endpoint, server.key, transport=transport) as client:
        same = client.get_database_client(database.id).get_container_client(wide_container.id)
        assert len(list(same.query_items(query, max_item_count=size, **EVERYWHERE))) == 100
        merged = transport.seen
        transport.seen = []
        assert len(list(same.query_items(query, max_item_count=size, **WHOLE))) == 100
        whole = transport.seen
    page = ("rows", 200)
    assert whole == [page] * pages_of(100, size)
    pages_of_ranges = sum(pages_of(count, size) for count in counts)
    assert merged == [("rows", 400), ("plan", 200)] + [page] * pages_of_ranges
    assert len(merged) <= len(whole) + 2 + len(ranges) - 1


def pages_of(rows, size):
    """A last page that is full has no continuation."""
    return -(-rows // size)


def test_the_client_may_ask_for_all_rows(wide_container):
    query = "SELECT c.even, COUNT(1) AS n FROM c GROUP BY c.even"
    rows, statuses = statuses_of(wide_container, query, **WHOLE)
    assert sorted(row["n"] for row in rows) == [50, 50]
    assert statuses == [200]


@pytest.mark.parametrize(
    "whom, agent, status",
    [
        ("sdks", None, 400),
        ("sdks", "a program", 200),
        ("everyone", "a program", 400),
        ("nobody", None, 200),
    ],
)
def test_the_setting_says_who_is_refused(whom, agent, status):
    server = orrery_server.start(options={"query_plans": whom})
    try:
        with CosmosClient(server.endpoint, server.key) as client:
            database = client.create_database("d")
            made = database.create_container(unique("c"), PartitionKey("/pk"))
            made.create_item({"id": "1", "pk": "a"})
            seen = []

            def note(response):
                seen.append(response.http_response.status_code)

            options = sending("user-agent", agent) if agent else {}
            query = "SELECT VALUE COUNT(1) FROM c"
            options = {**EVERYWHERE, **options, "raw_response_hook": note}
            assert list(made.query_items(query, **options)) == [1]
            assert seen[0] == status
    finally:
        server.stop()
