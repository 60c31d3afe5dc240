"""Aggregates over whole result sets: what they skip, what poisons them, what nothing gives."""

import pytest

from expect import failure
from mixed import (
    DOCUMENTS,
    MERGED,
    SCOPE,
    SERVER_SCOPE,
    defined,
    in_every_page_size,
    order_key,
    rows,
)


@SCOPE
def test_numbers(mixed_container, documents, scope):
    prices = [row["price"] for row in documents]
    expected = {
        "COUNT(1)": len(prices),
        "COUNT(c.price)": len(prices),
        "SUM(c.price)": sum(prices),
        "AVG(c.price)": pytest.approx(sum(prices) / len(prices)),
        "MIN(c.price)": min(prices),
        "MAX(c.price)": max(prices),
        "COUNTIF(c.price > 10)": sum(price > 10 for price in prices),
    }
    for call, value in expected.items():
        query = f"SELECT VALUE {call} FROM c"
        assert in_every_page_size(mixed_container, query, **scope) == [value], call


@SERVER_SCOPE
def test_several_in_one_row(mixed_container, documents, scope):
    query = "SELECT COUNT(1) AS n, SUM(c.n) AS total, MIN(c.id), MAX(c.id) AS last FROM c"
    expected = {
        "n": len(documents),
        "total": sum(row["n"] for row in documents),
        "$1": min(row["id"] for row in documents),
        "last": max(row["id"] for row in documents),
    }
    assert in_every_page_size(mixed_container, query, **scope) == [expected]


@SERVER_SCOPE
def test_count_skips_undefined_and_keeps_null(mixed_container, documents, scope):
    query = (
        "SELECT COUNT(1) AS every, COUNT(c.v) AS v, COUNT(c.part) AS part, COUNT(c.no) AS no "
        "FROM c"
    )
    assert rows(mixed_container, query, **scope) == [
        {
            "every": len(documents),
            "v": len(defined(documents, "v")),
            "part": len(defined(documents, "part")),
            "no": 0,
        }
    ]


@SERVER_SCOPE
@pytest.mark.parametrize("function", ["SUM", "AVG", "MIN", "MAX"])
def test_every_kind_together_is_undefined(mixed_container, documents, scope, function):
    # Non-numbers poison sums and averages; arrays and objects poison the extremes.
    assert rows(mixed_container, f"SELECT VALUE {function}(c.v) FROM c", **scope) == []
    query = f"SELECT COUNT(1) AS n, {function}(c.v) AS x FROM c"
    assert rows(mixed_container, query, **scope) == [{"n": len(documents)}]


@SCOPE
def test_extremes_of_mixed_primitives(mixed_container, documents, scope):
    values = [v for v in defined(documents, "v") if not isinstance(v, (list, dict))]
    condition = "IS_PRIMITIVE(c.v)"
    for function, pick in [("MIN", min), ("MAX", max)]:
        query = f"SELECT VALUE {function}(c.v) FROM c WHERE {condition}"
        assert rows(mixed_container, query, **scope) == [pick(values, key=order_key)]


KINDS = {
    "IS_NULL(c.v)": (None, None),
    "IS_BOOL(c.v)": (False, True),
    "IS_STRING(c.v)": ("", "\uff5e"),
}


@pytest.mark.parametrize("condition, extremes", KINDS.items(), ids=KINDS.keys())
def test_one_kind_that_is_no_number(mixed_container, condition, extremes):
    for function, expected in [
        ("SUM", []),
        ("AVG", []),
        ("MIN", [extremes[0]]),
        ("MAX", [extremes[1]]),
    ]:
        query = f"SELECT VALUE {function}(c.v) FROM c WHERE {condition}"
        assert rows(mixed_container, query) == expected, query


@pytest.mark.parametrize("condition", ["IS_ARRAY(c.v)", "IS_OBJECT(c.v)"])
@pytest.mark.parametrize("function", ["SUM", "AVG", "MIN", "MAX"])
def test_composites(mixed_container, condition, function):
    assert rows(mixed_container, f"SELECT VALUE {function}(c.v) FROM c WHERE {condition}") == []


@SERVER_SCOPE
def test_nothing(mixed_container, documents, scope):
    query = (
        "SELECT COUNT(1) AS count, SUM(c.n) AS sum, AVG(c.n) AS avg, MIN(c.n) AS min, "
        "MAX(c.n) AS max, COUNTIF(c.n > 0) AS some FROM c WHERE false"
    )
    assert rows(mixed_container, query, **scope) == [{"count": 0, "sum": 0, "some": 0}]
    for function, expected in [("COUNT", [0]), ("SUM", [0]), ("AVG", []), ("MIN", []), ("MAX", [])]:
        query = f"SELECT VALUE {function}(c.n) FROM c WHERE c.n < 0"
        assert rows(mixed_container, query, **scope) == expected, query


@SERVER_SCOPE
def test_undefined_is_skipped(mixed_container, documents, scope):
    numbers = [v for v in defined(documents, "part") if v is not None]
    condition = "NOT IS_NULL(c.part)"
    query = f"SELECT SUM(c.part) AS sum, AVG(c.part) AS avg FROM c WHERE {condition}"
    assert rows(mixed_container, query, **scope) == [
        {"sum": sum(numbers), "avg": pytest.approx(sum(numbers) / len(numbers))}
    ]


def test_lists_and_sets(mixed_container):
    (found,) = rows(mixed_container, "SELECT VALUE MAKELIST(c.g) FROM c")
    assert sorted(found) == sorted(row["g"] for row in DOCUMENTS)
    (found,) = rows(mixed_container, "SELECT VALUE MAKESET(c.g) FROM c")
    assert sorted(found) == [f"g{n}" for n in range(7)]
    assert rows(mixed_container, "SELECT VALUE MAKESET(c.no) FROM c") == [[]]


def test_integer_sums_stay_integers(mixed_container):
    (found,) = rows(mixed_container, "SELECT VALUE SUM(c.n) FROM c")
    assert found == 44850 and isinstance(found, int)


def test_over_expressions_and_joins(mixed_container):
    query = "SELECT VALUE SUM(c.n * 2 + 1) FROM c"
    assert rows(mixed_container, query) == [sum(row["n"] * 2 + 1 for row in DOCUMENTS)]
    query = "SELECT VALUE SUM(t.w) FROM c JOIN t IN c.tags"
    expected = sum(tag["w"] for row in DOCUMENTS for tag in row["tags"])
    assert rows(mixed_container, query) == [expected]


def test_aggregates_do_not_nest(mixed_container):
    with failure(400, message="SC2101"):
        rows(mixed_container, "SELECT VALUE SUM(COUNT(1)) FROM c")


@SCOPE
def test_count_of_distinct_values(mixed_container, documents, scope):
    query = "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.g FROM c)"
    assert rows(mixed_container, query, **scope) == [len({row["g"] for row in documents})]
