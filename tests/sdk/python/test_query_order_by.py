"""ORDER BY over every kind of value, in one key and over three partitions."""

import pytest
from azure.cosmos import PartitionKey

from expect import failure
from mixed import (
    DOCUMENTS,
    HOT_DOCUMENTS,
    HOT_KEY,
    SCOPE,
    SERVER_SCOPE,
    get,
    in_every_page_size,
    order_key,
    rows,
)

DIRECTIONS = pytest.mark.parametrize("direction", ["", "ASC", "DESC"])


def sort_keys(found, name="v"):
    return [order_key(get(row, name)) for row in found]


@SERVER_SCOPE
@DIRECTIONS
def test_every_kind_of_value(mixed_container, documents, scope, direction):
    query = f"SELECT * FROM c ORDER BY c.v {direction}"
    found = in_every_page_size(mixed_container, query, **scope)
    expected = sorted(sort_keys(documents), reverse=direction == "DESC")
    assert sort_keys(found) == expected
    assert sorted(row["n"] for row in found) == [row["n"] for row in documents]


@SCOPE
@DIRECTIONS
@pytest.mark.parametrize("kind", ["IS_BOOL(c.v)", "IS_NUMBER(c.v)", "c.v < 's~'"])
def test_every_kind_by_itself(mixed_container, documents, scope, direction, kind):
    """What the Python client merges, too: keys of one type. Beyond `s~` it has another order than the language."""
    query = f"SELECT * FROM c WHERE {kind} ORDER BY c.v {direction}"
    found = in_every_page_size(mixed_container, query, **scope)
    keep = {
        "IS_BOOL(c.v)": lambda v: isinstance(v, bool),
        "IS_NUMBER(c.v)": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
        "c.v < 's~'": lambda v: isinstance(v, str) and v < "s~",
    }[kind]
    wanted = [row for row in documents if keep(get(row, "v"))]
    assert sort_keys(found) == sorted(sort_keys(wanted), reverse=direction == "DESC")
    assert sorted(row["n"] for row in found) == [row["n"] for row in wanted]


@SERVER_SCOPE
@DIRECTIONS
def test_over_a_subquery_that_only_filters(mixed_container, documents, scope, direction):
    """What EF Core makes of FromSql(...).OrderBy(...)."""
    query = f'SELECT VALUE s FROM (SELECT * FROM root c WHERE c.n > 3) s ORDER BY s["v"] {direction}'
    found = in_every_page_size(mixed_container, query, **scope)
    wanted = [row for row in documents if row["n"] > 3]
    assert sort_keys(found) == sorted(sort_keys(wanted), reverse=direction == "DESC")
    assert sorted(row["n"] for row in found) == [row["n"] for row in wanted]


@DIRECTIONS
def test_ties_follow_creation_inside_a_key(mixed_container, direction):
    query = f"SELECT VALUE c.n FROM c ORDER BY c.g {direction}"
    found = in_every_page_size(mixed_container, query, partition_key=HOT_KEY)
    ordered = sorted(HOT_DOCUMENTS, key=lambda row: (row["g"], row["n"]))
    assert ordered != sorted(HOT_DOCUMENTS, key=lambda row: (row["g"], row["id"]))
    if direction == "DESC":
        ordered.reverse()
    assert found == [row["n"] for row in ordered]


@SCOPE
@DIRECTIONS
@pytest.mark.parametrize("path", ["c.n", 'c["n"]', "c['n']"])
def test_distinct_keys_give_one_order(mixed_container, documents, scope, direction, path):
    query = f"SELECT VALUE c.id FROM c ORDER BY {path} {direction}"
    expected = [row["id"] for row in documents]
    if direction == "DESC":
        expected.reverse()
    assert rows(mixed_container, query, **scope) == expected


@SCOPE
def test_filter_and_projection(mixed_container, documents, scope):
    query = "SELECT c.id, c.v AS it FROM c WHERE c.n >= 50 AND c.g = 'g3' ORDER BY c.n DESC"
    expected = []
    for row in reversed(documents):
        if row["n"] >= 50 and row["g"] == "g3":
            expected.append({"id": row["id"]} | ({"it": row["v"]} if "v" in row else {}))
    assert in_every_page_size(mixed_container, query, **scope) == expected


@SCOPE
def test_undefined_projection_leaves_no_row(mixed_container, documents, scope):
    query = "SELECT VALUE c.v FROM c ORDER BY c.n"
    expected = [row["v"] for row in documents if "v" in row]
    assert in_every_page_size(mixed_container, query, **scope) == expected


def test_nested_and_indexed_paths(mixed_container):
    found = rows(mixed_container, "SELECT * FROM c ORDER BY c.v.x DESC")
    keys = [row["v"]["x"] for row in found if isinstance(row.get("v"), dict)]
    assert len(found) == len(DOCUMENTS)
    assert keys == sorted(keys, reverse=True)
    found = rows(mixed_container, "SELECT VALUE c.tags[0].w FROM c ORDER BY c.tags[0].w")
    assert found == sorted(found)


def test_path_nobody_has(mixed_container):
    found = in_every_page_size(mixed_container, "SELECT VALUE c.n FROM c ORDER BY c.nobody")
    assert sorted(found) == [row["n"] for row in DOCUMENTS]


@pytest.mark.parametrize("first, second", [("ASC", "DESC"), ("DESC", "ASC")])
def test_two_items_with_a_composite_index(database, first, second):
    policy = {
        "indexingMode": "consistent",
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [],
        "compositeIndexes": [
            [{"path": "/g", "order": "ascending"}, {"path": "/n", "order": "descending"}]
        ],
    }
    made = database.create_container_if_not_exists(
        "composite", PartitionKey("/pk"), indexing_policy=policy, offer_throughput=18000
    )
    for row in DOCUMENTS[:60]:
        made.upsert_item(row)
    found = in_every_page_size(
        made, f"SELECT VALUE c.n FROM c ORDER BY c.g {first}, c.n {second}"
    )
    expected = sorted(DOCUMENTS[:60], key=lambda row: (row["g"], -row["n"]))
    if first == "DESC":
        expected.reverse()
    assert found == [row["n"] for row in expected]


@pytest.mark.parametrize("item", ["LOWER(c.g)", "1", "'x'", "@p", "c.n + 1"])
def test_items_that_are_no_path(mixed_container, item):
    with failure(400, message="2206"):
        rows(
            mixed_container,
            f"SELECT * FROM c ORDER BY {item}",
            parameters=[{"name": "@p", "value": 1}],
        )


@pytest.mark.parametrize("query", ["SELECT VALUE COUNT(1) FROM c ORDER BY c.n"])
@SCOPE
def test_beside_an_aggregate_is_ignored(mixed_container, query, documents, scope):
    assert list(mixed_container.query_items(query, **scope)) == [len(documents)]
