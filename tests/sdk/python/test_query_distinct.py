"""DISTINCT compares whole rows by value, across partitions and pages."""

import json

import pytest

from mixed import SCOPE, SERVER_SCOPE, in_every_page_size, order_key, rows


def text(value):
    return json.dumps(value, sort_keys=True)


def once(values):
    return [json.loads(value) for value in sorted({text(value) for value in values})]


@SERVER_SCOPE
def test_values_of_every_kind(mixed_container, documents, scope):
    found = in_every_page_size(mixed_container, "SELECT DISTINCT VALUE c.v FROM c", **scope)
    assert sorted(found, key=text) == once(row["v"] for row in documents if "v" in row)


@SCOPE
def test_values_of_one_kind(mixed_container, documents, scope):
    """The Python client leaves null out, takes true for 1 and false for 0, also inside objects."""
    query = "SELECT DISTINCT VALUE c.v FROM c WHERE IS_STRING(c.v) OR IS_ARRAY(c.v)"
    found = in_every_page_size(mixed_container, query, **scope)
    kept = [row["v"] for row in documents if isinstance(row.get("v"), (str, list))]
    assert sorted(found, key=text) == once(kept)


@SCOPE
def test_objects(mixed_container, documents, scope):
    query = "SELECT DISTINCT c.g, c.part FROM c"
    found = in_every_page_size(mixed_container, query, **scope)
    expected = [
        {name: row[name] for name in ("g", "part") if name in row} for row in documents
    ]
    assert sorted(found, key=text) == once(expected)


@SCOPE
def test_row_without_the_property_is_the_empty_object(mixed_container, documents, scope):
    found = in_every_page_size(mixed_container, "SELECT DISTINCT c.part FROM c", **scope)
    expected = once({"part": row["part"]} if "part" in row else {} for row in documents)
    assert {} in found
    assert sorted(found, key=text) == expected


def test_property_order_and_number_form_do_not_matter(container, pk):
    for n, value in enumerate([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}, {"b": 2, "a": 1}]):
        container.create_item({"id": str(n), "pk": pk, "o": value})
    found = rows(container, "SELECT DISTINCT VALUE c.o FROM c", partition_key=pk)
    assert sorted(found, key=text) == [{"a": 1, "b": 2}, {"a": 1, "b": [2]}]


@SCOPE
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_texts_in_order(mixed_container, documents, scope, direction):
    query = f"SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g {direction}"
    found = in_every_page_size(mixed_container, query, **scope)
    assert found == sorted({row["g"] for row in documents}, reverse=direction == "DESC")


@SERVER_SCOPE
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_in_order(mixed_container, documents, scope, direction):
    query = f"SELECT DISTINCT VALUE c.v FROM c ORDER BY c.v {direction}"
    found = in_every_page_size(mixed_container, query, **scope)
    expected = once(row["v"] for row in documents if "v" in row)
    assert found == sorted(expected, key=order_key, reverse=direction == "DESC")


@SCOPE
def test_limits_count_distinct_rows(mixed_container, documents, scope):
    groups = sorted({row["g"] for row in documents})
    query = "SELECT DISTINCT TOP 3 VALUE c.g FROM c ORDER BY c.g"
    assert in_every_page_size(mixed_container, query, **scope) == groups[:3]
    query = "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g OFFSET 2 LIMIT 4"
    assert in_every_page_size(mixed_container, query, **scope) == groups[2:6]
    everything = rows(mixed_container, "SELECT DISTINCT VALUE c.g FROM c", **scope)
    query = "SELECT DISTINCT VALUE c.g FROM c OFFSET 1 LIMIT 5"
    assert in_every_page_size(mixed_container, query, **scope) == everything[1:6]


def test_constant(mixed_container):
    assert in_every_page_size(mixed_container, "SELECT DISTINCT VALUE 1 FROM c") == [1]


def test_through_a_join(mixed_container):
    query = "SELECT DISTINCT VALUE t.name FROM c JOIN t IN c.tags"
    assert sorted(in_every_page_size(mixed_container, query)) == ["t0", "t1", "t2"]
