"""Short words for the change feed, and for containers that split."""

import time

import pytest
from azure.cosmos import CosmosClient

from mixed import WHOLE

SPLIT_SECONDS_MAX = 60


def pages(container, **options):
    """Every page there is now, and the continuation after the last."""
    pager = container.query_items_change_feed(**options).by_page()
    found = [list(page) for page in pager]
    # The pager ends on an empty page and drops its continuation; the SDK's samples read it here.
    return found, container.client_connection.last_response_headers["etag"]


def changes(container, **options):
    """Every change there is now, and where to go on."""
    found, continuation = pages(container, **options)
    return [change for page in found for change in page], continuation


def ids(rows):
    return [row["id"] for row in rows]


def split(server, container, *, throughput=25000, partitions=3):
    """Raises the throughput and waits for the split.

    The client under test is not told that its ranges are gone: it has to find out by itself.
    Clients of one process share what they know of ranges, so these are read past that memory.
    """
    with CosmosClient(server.endpoint, server.key) as client:
        _, database, _, name = container.container_link.split("/")
        same = client.get_database_client(database).get_container_client(name)
        same.replace_throughput(throughput)
        deadline = time.monotonic() + SPLIT_SECONDS_MAX
        connection = client.client_connection
        while len(list(connection._ReadPartitionKeyRanges(same.container_link))) < partitions:
            assert time.monotonic() < deadline, "the container did not split"
            time.sleep(0.05)


def _items(wanted):
    """A check of rows against the numbers of ninety items."""

    def check(rows):
        assert [row["n"] for row in rows] == list(wanted)

    return check


def _any_order(rows):
    assert sorted(row["n"] for row in rows) == list(range(90))


def _keys(rows):
    assert sorted(rows) == sorted(f"k{n}" for n in range(30))


# Queries over the ninety items of thirty keys (`n`, `pk`), and checks of all their rows.
OPEN_QUERIES = {
    "SELECT * FROM c": _any_order,
    "SELECT * FROM c WHERE c.n >= 0": _any_order,
    "SELECT * FROM c ORDER BY c.n": _items(range(90)),
    "SELECT * FROM c ORDER BY c.n DESC": _items(range(89, -1, -1)),
    "SELECT TOP 60 * FROM c ORDER BY c.n": _items(range(60)),
    "SELECT * FROM c OFFSET 0 LIMIT 1000": _any_order,
    "SELECT * FROM c ORDER BY c.n OFFSET 5 LIMIT 60": _items(range(5, 65)),
    "SELECT DISTINCT c.n FROM c": _any_order,
    "SELECT DISTINCT VALUE c.pk FROM c": _keys,
    "SELECT DISTINCT c.n FROM c ORDER BY c.n": _items(range(90)),
}
# Who merges the partitions: the client, or the server.
OPTIONS = {"default": {"enable_cross_partition_query": True}, "whole": WHOLE}


def _groups(rows):
    assert sorted(row["pk"] for row in rows) == sorted(f"k{n}" for n in range(30))
    assert all(row["many"] == 3 for row in rows)


# Queries that stay open across a change of ranges: text, check of all rows, options. The SDK does
# not merge groups, so only the server does.
OPEN = [
    pytest.param(query, check, options, id=f"{query}, {name}")
    for query, check in OPEN_QUERIES.items()
    for name, options in OPTIONS.items()
] + [pytest.param("SELECT c.pk, COUNT(1) AS many FROM c GROUP BY c.pk", _groups, WHOLE)]
