"""TOP and OFFSET LIMIT, with and without an order, across page boundaries."""

import pytest

from expect import failure
from mixed import DOCUMENTS, HOT_KEY, SCOPE, in_every_page_size, rows

NUMBERS = [row["n"] for row in DOCUMENTS]


@SCOPE
@pytest.mark.parametrize("count", [0, 1, 8, 150, 1000])
def test_top_of_an_order(mixed_container, documents, scope, count):
    query = f"SELECT TOP {count} VALUE c.n FROM c ORDER BY c.n"
    assert in_every_page_size(mixed_container, query, **scope) == [row["n"] for row in documents][:count]


@SCOPE
@pytest.mark.parametrize("count", [0, 1, 8, 150, 1000])
def test_top_without_an_order(mixed_container, documents, scope, count):
    query = f"SELECT TOP {count} VALUE c.n FROM c"
    found = in_every_page_size(mixed_container, query, **scope)
    numbers = [row["n"] for row in documents]
    assert len(found) == min(count, len(numbers))
    assert set(found) <= set(numbers) and len(set(found)) == len(found)


@SCOPE
@pytest.mark.parametrize("offset, limit", [(0, 0), (0, 5), (10, 0), (3, 9), (50, 500), (999, 3)])
def test_offset_limit_of_an_order(mixed_container, documents, scope, offset, limit):
    query = f"SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET {offset} LIMIT {limit}"
    expected = [row["n"] for row in documents][::-1][offset : offset + limit]
    assert in_every_page_size(mixed_container, query, **scope) == expected


@SCOPE
def test_offsets_without_an_order_cover_everything(mixed_container, documents, scope):
    found = []
    for offset in range(0, 300, 60):
        query = f"SELECT VALUE c.n FROM c OFFSET {offset} LIMIT 60"
        found += rows(mixed_container, query, 7, **scope)
    assert found == rows(mixed_container, "SELECT VALUE c.n FROM c", **scope)
    assert sorted(found) == [row["n"] for row in documents]


def test_counts_from_parameters(mixed_container):
    parameters = [{"name": "@skip", "value": 20}, {"name": "@take", "value": 5}]
    query = "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET @skip LIMIT @take"
    assert rows(mixed_container, query, parameters=parameters) == NUMBERS[20:25]
    query = "SELECT TOP @take VALUE c.n FROM c ORDER BY c.n"
    assert rows(mixed_container, query, parameters=parameters) == NUMBERS[:5]


def test_top_after_a_filter(mixed_container):
    query = "SELECT TOP 4 VALUE c.n FROM c WHERE c.g = 'g2' ORDER BY c.n DESC"
    expected = [row["n"] for row in DOCUMENTS if row["g"] == "g2"][::-1][:4]
    assert in_every_page_size(mixed_container, query) == expected


@pytest.mark.parametrize(
    "query, code",
    [
        ("SELECT TOP -1 * FROM c", "SC1001"),
        ("SELECT TOP 'x' * FROM c", "SC1001"),
        ("SELECT TOP 1.5 * FROM c", "SC2060"),
        ("SELECT TOP 4294967296 * FROM c", "SC2060"),
        ("SELECT * FROM c OFFSET -1 LIMIT 1", "SC1001"),
        ("SELECT * FROM c OFFSET 1", "SC1002"),
        ("SELECT * FROM c LIMIT 1", "SC1001"),
        ("SELECT * FROM c OFFSET 4294967296 LIMIT 1", "SC2062"),
        ("SELECT * FROM c OFFSET 1 LIMIT 4294967296", "SC2061"),
    ],
)
def test_impossible_counts(mixed_container, query, code):
    with failure(400, message=code):
        rows(mixed_container, query, partition_key=HOT_KEY)


@pytest.mark.parametrize("value", [-1, 1.5, "1", None, [1]])
def test_impossible_count_parameters(mixed_container, value):
    with failure(400):
        query = "SELECT TOP @n * FROM c"
        rows(mixed_container, query, parameters=[{"name": "@n", "value": value}])
