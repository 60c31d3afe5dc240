"""GROUP BY: keys of every kind, aggregates for each group, the same groups in any page size."""

import json
from collections import defaultdict

import pytest

from expect import failure
from mixed import DOCUMENTS, HOT_KEY, SERVER_SCOPE, in_every_page_size, rows


def text(value):
    return json.dumps(value, sort_keys=True)


def unordered(found):
    return sorted(found, key=text)


def groups(documents, *names):
    """Rows by their key values, and the key as the properties it leaves in the output."""
    found = defaultdict(list)
    for row in documents:
        key = {name: row[name] for name in names if name in row}
        found[text(key)].append(row)
    return [(json.loads(key), members) for key, members in found.items()]


@SERVER_SCOPE
def test_all_aggregates(mixed_container, documents, scope):
    query = (
        "SELECT c.g, COUNT(1) AS count, SUM(c.n) AS sum, AVG(c.n) AS avg, MIN(c.n) AS min, "
        "MAX(c.id) AS max FROM c GROUP BY c.g"
    )
    expected = [
        {
            **key,
            "count": len(members),
            "sum": sum(row["n"] for row in members),
            "avg": pytest.approx(sum(row["n"] for row in members) / len(members)),
            "min": members[0]["n"],
            "max": max(row["id"] for row in members),
        }
        for key, members in groups(documents, "g")
    ]
    found = in_every_page_size(mixed_container, query, **scope)
    assert sorted(found, key=lambda row: row["g"]) == sorted(expected, key=lambda row: row["g"])


@SERVER_SCOPE
def test_keys_of_every_kind(mixed_container, documents, scope):
    query = "SELECT c.v, COUNT(1) AS count FROM c GROUP BY c.v"
    expected = [{**key, "count": len(members)} for key, members in groups(documents, "v")]
    found = in_every_page_size(mixed_container, query, **scope)
    assert unordered(found) == unordered(expected)


@SERVER_SCOPE
def test_two_keys(mixed_container, documents, scope):
    query = "SELECT c.g, c.part, COUNT(1) AS count FROM c GROUP BY c.g, c.part"
    expected = [
        {**key, "count": len(members)} for key, members in groups(documents, "g", "part")
    ]
    found = in_every_page_size(mixed_container, query, **scope)
    assert unordered(found) == unordered(expected)


@SERVER_SCOPE
def test_values(mixed_container, documents, scope):
    found = in_every_page_size(mixed_container, "SELECT VALUE c.g FROM c GROUP BY c.g", **scope)
    assert sorted(found) == sorted({row["g"] for row in documents})
    query = "SELECT VALUE COUNT(1) FROM c GROUP BY c.g"
    found = in_every_page_size(mixed_container, query, **scope)
    assert sorted(found) == sorted(len(members) for _, members in groups(documents, "g"))


@SERVER_SCOPE
def test_poisoned_groups_only_lose_their_value(mixed_container, documents, scope):
    query = "SELECT c.g, SUM(c.part) AS sum FROM c GROUP BY c.g"
    expected = []
    for key, members in groups(documents, "g"):
        parts = [row["part"] for row in members if "part" in row]
        expected.append(key if None in parts else {**key, "sum": sum(parts)})
    assert unordered(rows(mixed_container, query, **scope)) == unordered(expected)


def test_computed_keys(mixed_container):
    query = "SELECT UPPER(c.g) AS upper, COUNT(1) AS count FROM c GROUP BY UPPER(c.g)"
    expected = [
        {"upper": key["g"].upper(), "count": len(members)}
        for key, members in groups(DOCUMENTS, "g")
    ]
    assert unordered(rows(mixed_container, query)) == unordered(expected)
    query = "SELECT UPPER(c.g) AS upper, COUNT(1) AS count FROM c GROUP BY c.g"
    assert unordered(rows(mixed_container, query)) == unordered(expected)
    found = rows(mixed_container, "SELECT c.n % 4 AS rest, COUNT(1) AS n FROM c GROUP BY c.n % 4")
    assert unordered(found) == [{"n": 75, "rest": rest} for rest in range(4)]


def test_filtered_and_joined(mixed_container):
    query = (
        "SELECT t.name, SUM(t.w) AS sum FROM c JOIN t IN c.tags WHERE c.n < 100 GROUP BY t.name"
    )
    sums = defaultdict(int)
    for row in DOCUMENTS[:100]:
        for tag in row["tags"]:
            sums[tag["name"]] += tag["w"]
    expected = [{"name": name, "sum": value} for name, value in sums.items()]
    assert unordered(rows(mixed_container, query)) == unordered(expected)


def test_no_rows_no_groups(mixed_container):
    query = "SELECT c.g, COUNT(1) AS n FROM c WHERE c.n < 0 GROUP BY c.g"
    assert rows(mixed_container, query) == []


def test_top_and_offset_count_groups(mixed_container):
    everything = rows(mixed_container, "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g")
    query = "SELECT TOP 3 c.g, COUNT(1) AS n FROM c GROUP BY c.g"
    assert in_every_page_size(mixed_container, query) == everything[:3]
    query = "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g OFFSET 2 LIMIT 3"
    assert in_every_page_size(mixed_container, query) == everything[2:5]


@pytest.mark.parametrize(
    "query, code",
    [
        ("SELECT * FROM c GROUP BY c.g", "SC2041"),
        ("SELECT c.n FROM c GROUP BY c.g", "SC2102"),
        ("SELECT c.g, c.n, COUNT(1) FROM c GROUP BY c.g", "SC2102"),
        ("SELECT c.g, COUNT(1) FROM c", "SC2102"),
    ],
)
def test_refused(mixed_container, query, code):
    with failure(400, message=code):
        rows(mixed_container, query, partition_key=HOT_KEY)


def test_undefined_key_is_a_group(mixed_container):
    found = rows(mixed_container, "SELECT c.no, COUNT(1) AS n FROM c GROUP BY c.no")
    assert found == [{"n": 300}]
