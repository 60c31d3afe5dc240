"""FROM paths, iteration, JOIN and subqueries: all of them stay inside one item."""

import pytest

from expect import failure
from mixed import DOCUMENTS, HOT_KEY, SCOPE, in_every_page_size, rows


def pairs(found):
    return sorted(tuple(row.values()) for row in found)


@SCOPE
def test_join_with_a_condition(mixed_container, documents, scope):
    query = "SELECT c.n, t.w FROM c JOIN t IN c.tags WHERE t.name != 't0' AND t.w > 1"
    expected = [
        (row["n"], tag["w"])
        for row in documents
        for tag in row["tags"]
        if tag["name"] != "t0" and tag["w"] > 1
    ]
    assert pairs(in_every_page_size(mixed_container, query, **scope)) == sorted(expected)


def test_cross_product(mixed_container):
    query = "SELECT c.n, a.name AS x, b.name AS y FROM c JOIN a IN c.tags JOIN b IN c.tags"
    expected = [
        (row["n"], a["name"], b["name"])
        for row in DOCUMENTS
        for a in row["tags"]
        for b in row["tags"]
    ]
    assert pairs(in_every_page_size(mixed_container, query)) == sorted(expected)


def test_rows_of_one_item_come_in_array_order(mixed_container):
    query = "SELECT VALUE t.name FROM c JOIN t IN c.tags WHERE c.n = 7"
    assert rows(mixed_container, query) == ["t0", "t1", "t2"]


def test_join_in_order_of_the_item(mixed_container):
    query = "SELECT c.n, t.name FROM c JOIN t IN c.tags ORDER BY c.n DESC"
    expected = [
        {"n": row["n"], "name": tag["name"]} for row in reversed(DOCUMENTS) for tag in row["tags"]
    ]
    found = in_every_page_size(mixed_container, query)
    assert [row["n"] for row in found] == [row["n"] for row in expected]
    assert pairs(found) == pairs(expected)


@SCOPE
def test_iteration_without_the_item(mixed_container, documents, scope):
    found = in_every_page_size(mixed_container, "SELECT VALUE t.w FROM t IN c.tags", **scope)
    assert sorted(found) == sorted(tag["w"] for row in documents for tag in row["tags"])


def test_path_source_drops_rows_that_lack_it(mixed_container):
    found = in_every_page_size(mixed_container, "SELECT VALUE x FROM c.v.x")
    expected = [row["v"]["x"] for row in DOCUMENTS if isinstance(row.get("v"), dict)]
    assert sorted(found) == sorted(expected)


def test_join_of_a_single_value(mixed_container):
    query = "SELECT VALUE o.x FROM c JOIN c.v AS o WHERE IS_OBJECT(o)"
    expected = [row["v"]["x"] for row in DOCUMENTS if isinstance(row.get("v"), dict)]
    assert sorted(rows(mixed_container, query)) == sorted(expected)


def test_subquery_as_source(mixed_container):
    query = (
        "SELECT c.n, t.w FROM c "
        "JOIN (SELECT VALUE t FROM t IN c.tags WHERE t.w >= 3) AS t WHERE c.n > 200"
    )
    expected = [
        (row["n"], tag["w"]) for row in DOCUMENTS[201:] for tag in row["tags"] if tag["w"] >= 3
    ]
    assert pairs(in_every_page_size(mixed_container, query)) == sorted(expected)


@SCOPE
def test_exists(mixed_container, documents, scope):
    query = "SELECT VALUE c.n FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t.w = 4)"
    expected = [row["n"] for row in documents if any(tag["w"] == 4 for tag in row["tags"])]
    assert sorted(in_every_page_size(mixed_container, query, **scope)) == expected
    query = query.replace("EXISTS", "NOT EXISTS")
    expected = [row["n"] for row in documents if all(tag["w"] != 4 for tag in row["tags"])]
    assert sorted(rows(mixed_container, query, **scope)) == expected


def test_exists_ignores_rows_without_a_value(mixed_container):
    query = "SELECT VALUE EXISTS(SELECT VALUE c.no) FROM c WHERE c.n = 1"
    assert rows(mixed_container, query) == [False]


@SCOPE
def test_array(mixed_container, documents, scope):
    query = (
        "SELECT c.n, ARRAY(SELECT VALUE t.name FROM t IN c.tags WHERE t.w > 0) AS names "
        "FROM c ORDER BY c.n"
    )
    expected = [
        {"n": row["n"], "names": [tag["name"] for tag in row["tags"] if tag["w"] > 0]}
        for row in documents
    ]
    assert in_every_page_size(mixed_container, query, **scope) == expected


def test_array_of_distinct_values(mixed_container):
    query = "SELECT VALUE ARRAY(SELECT DISTINCT VALUE t.w FROM t IN c.tags) FROM c WHERE c.n = 50"
    assert rows(mixed_container, query) == [[0]]


@SCOPE
def test_scalar_subquery(mixed_container, documents, scope):
    query = (
        "SELECT c.n, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS count, "
        "(SELECT VALUE MAX(t.w) FROM t IN c.tags) AS most FROM c ORDER BY c.n"
    )
    expected = []
    for row in documents:
        made = {"n": row["n"], "count": len(row["tags"])}
        if row["tags"]:
            made["most"] = max(tag["w"] for tag in row["tags"])
        expected.append(made)
    assert in_every_page_size(mixed_container, query, **scope) == expected


def test_subquery_with_many_rows_is_refused(mixed_container):
    with failure(400):
        rows(mixed_container, "SELECT VALUE (SELECT VALUE t.w FROM t IN c.tags) FROM c")


def test_first_and_last(mixed_container):
    query = (
        "SELECT FIRST(SELECT VALUE t.name FROM t IN c.tags) AS first, "
        "LAST(SELECT VALUE t.name FROM t IN c.tags) AS last FROM c WHERE c.n IN (4, 7)"
    )
    found = rows(mixed_container, query)
    assert sorted(found, key=len) == [{}, {"first": "t0", "last": "t2"}]


def test_star_with_a_join_is_refused(mixed_container):
    with failure(400):
        rows(mixed_container, "SELECT * FROM c JOIN t IN c.tags", partition_key=HOT_KEY)


def test_without_a_source(mixed_container):
    assert rows(mixed_container, "SELECT VALUE 1 + 1", partition_key=HOT_KEY) == [2]
    assert rows(mixed_container, "SELECT 1 AS a, undefined AS b, 'x'") == [{"a": 1, "$1": "x"}]
