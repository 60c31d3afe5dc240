"""Patch: six operations, conditions and limits."""

import pytest

from expect import failure, without_system

MISSING_PARENT = (
    "For Operation(1): Add Operation can only create a child object of an existing node(array or "
    "object) and cannot create path recursively, no path found beyond: 'nonExistentParent'. "
    "Learn more: https://aka.ms/cosmosdbpatchdocs"
)
START = {
    "a": 1,
    "text": "t",
    "list": [1, 2, 3],
    "deep": {"b": {"c": 5}, "gone": True},
    "ratio": 0.5,
}


@pytest.fixture
def item(container, pk):
    return container.create_item({"id": "1", "pk": pk, **START})


def patched(container, pk, *operations, **options):
    result = without_system(container.patch_item("1", pk, list(operations), **options))
    assert result == without_system(container.read_item("1", pk))
    return {name: value for name, value in result.items() if name not in ("id", "pk")}


CASES = {
    "add property": ([{"op": "add", "path": "/n", "value": 1}], {**START, "n": 1}),
    "add overwrites": ([{"op": "add", "path": "/a", "value": "x"}], {**START, "a": "x"}),
    "add nested": (
        [{"op": "add", "path": "/deep/b/d", "value": [1]}],
        {**START, "deep": {"b": {"c": 5, "d": [1]}, "gone": True}},
    ),
    "add inserts into an array": (
        [{"op": "add", "path": "/list/1", "value": 9}],
        {**START, "list": [1, 9, 2, 3]},
    ),
    "add at the length appends": (
        [{"op": "add", "path": "/list/3", "value": 9}],
        {**START, "list": [1, 2, 3, 9]},
    ),
    "add at dash appends": (
        [{"op": "add", "path": "/list/-", "value": 9}],
        {**START, "list": [1, 2, 3, 9]},
    ),
    "add null": ([{"op": "add", "path": "/n", "value": None}], {**START, "n": None}),
    "set property": ([{"op": "set", "path": "/n", "value": {}}], {**START, "n": {}}),
    "set overwrites": ([{"op": "set", "path": "/a", "value": 2}], {**START, "a": 2}),
    "set replaces an element": (
        [{"op": "set", "path": "/list/0", "value": 9}],
        {**START, "list": [9, 2, 3]},
    ),
    "replace": ([{"op": "replace", "path": "/text", "value": None}], {**START, "text": None}),
    "replace an element": (
        [{"op": "replace", "path": "/list/2", "value": "x"}],
        {**START, "list": [1, 2, "x"]},
    ),
    "remove": (
        [{"op": "remove", "path": "/a"}],
        {name: value for name, value in START.items() if name != "a"},
    ),
    "remove nested": ([{"op": "remove", "path": "/deep/gone"}], {**START, "deep": {"b": {"c": 5}}}),
    "remove an element": ([{"op": "remove", "path": "/list/0"}], {**START, "list": [2, 3]}),
    "incr": ([{"op": "incr", "path": "/a", "value": 5}], {**START, "a": 6}),
    "incr down": ([{"op": "incr", "path": "/a", "value": -3}], {**START, "a": -2}),
    "incr by a fraction": (
        [{"op": "incr", "path": "/ratio", "value": 0.25}],
        {**START, "ratio": 0.75},
    ),
    "incr creates": ([{"op": "incr", "path": "/n", "value": 7}], {**START, "n": 7}),
    "incr an element": (
        [{"op": "incr", "path": "/list/1", "value": 10}],
        {**START, "list": [1, 12, 3]},
    ),
    "move": (
        [{"op": "move", "from": "/deep/b/c", "path": "/a"}],
        {**START, "a": 5, "deep": {"b": {}, "gone": True}},
    ),
    "move to a new property": (
        [{"op": "move", "from": "/text", "path": "/moved"}],
        {**{n: v for n, v in START.items() if n != "text"}, "moved": "t"},
    ),
    "move onto itself": ([{"op": "move", "from": "/a", "path": "/a"}], START),
    "escaped pointer": (
        [{"op": "add", "path": "/x~1y~0z", "value": 1}],
        {**START, "x/y~z": 1},
    ),
    "in order": (
        [
            {"op": "add", "path": "/n", "value": {}},
            {"op": "add", "path": "/n/m", "value": 1},
            {"op": "incr", "path": "/n/m", "value": 1},
            {"op": "move", "from": "/n/m", "path": "/m"},
        ],
        {**START, "n": {}, "m": 2},
    ),
    "ttl": ([{"op": "add", "path": "/ttl", "value": 100}], {**START, "ttl": 100}),
}


@pytest.mark.parametrize("operations, expected", CASES.values(), ids=CASES.keys())
def test_operation(container, pk, item, operations, expected):
    assert patched(container, pk, *operations) == expected


FAILURES = {
    "replace a missing path": [{"op": "replace", "path": "/n", "value": 1}],
    "replace beyond the array": [{"op": "replace", "path": "/list/3", "value": 1}],
    "remove a missing path": [{"op": "remove", "path": "/n"}],
    "remove beyond the array": [{"op": "remove", "path": "/list/3"}],
    "add beyond the array": [{"op": "add", "path": "/list/4", "value": 1}],
    "set under a missing parent": [{"op": "set", "path": "/n/m", "value": 1}],
    "incr a text": [{"op": "incr", "path": "/text", "value": 1}],
    "incr by a text": [{"op": "incr", "path": "/a", "value": "1"}],
    "move a missing path": [{"op": "move", "from": "/n", "path": "/a"}],
    "move into itself": [{"op": "move", "from": "/deep", "path": "/deep/b/x"}],
    "the id": [{"op": "replace", "path": "/id", "value": "2"}],
    "the partition key": [{"op": "replace", "path": "/pk", "value": "2"}],
    "a system property": [{"op": "set", "path": "/_ts", "value": 2}],
    "remove the partition key": [{"op": "remove", "path": "/pk"}],
    "unknown operation": [{"op": "copy", "path": "/a", "value": 1}],
    "path without slash": [{"op": "add", "path": "a", "value": 1}],
    "no value": [{"op": "add", "path": "/n"}],
    "no operations": [],
    "second fails": [
        {"op": "add", "path": "/n", "value": 1},
        {"op": "remove", "path": "/missing"},
    ],
}


@pytest.mark.parametrize("operations", FAILURES.values(), ids=FAILURES.keys())
def test_impossible_patch_changes_nothing(container, pk, item, operations):
    with failure(400):
        container.patch_item("1", pk, operations)
    assert container.read_item("1", pk) == item


def test_missing_parent_is_explained_verbatim(container, pk, item):
    operations = [{"op": "add", "path": "/nonExistentParent/child", "value": 1}]
    with failure(400, message=MISSING_PARENT):
        container.patch_item("1", pk, operations)


def test_ten_operations_are_the_limit(container, pk, item):
    operations = [{"op": "incr", "path": "/a", "value": 1}] * 10
    assert container.patch_item("1", pk, operations)["a"] == 11
    with failure(400):
        container.patch_item("1", pk, operations + operations[:1])


def test_condition_true(container, pk, item):
    operation = {"op": "set", "path": "/n", "value": 1}
    assert patched(container, pk, operation, filter_predicate="from c where c.a = 1")["n"] == 1


@pytest.mark.parametrize(
    "predicate",
    ["from c where c.a = 2", "from root r where r.text != 't'", "from c where c.missing = 1"],
)
def test_condition_false(container, pk, item, predicate):
    with failure(412, sub_status=1110):
        container.patch_item(
            "1", pk, [{"op": "set", "path": "/n", "value": 1}], filter_predicate=predicate
        )
    assert container.read_item("1", pk) == item


def test_condition_with_a_syntax_error(container, pk, item):
    with failure(400):
        container.patch_item(
            "1", pk, [{"op": "set", "path": "/n", "value": 1}], filter_predicate="frm c whre"
        )


def test_patch_of_a_missing_item(container, pk):
    with failure(404):
        container.patch_item("1", pk, [{"op": "set", "path": "/n", "value": 1}])


def test_patch_renews_etag_and_keeps_identity(container, pk, item):
    result = container.patch_item("1", pk, [{"op": "set", "path": "/n", "value": 1}])
    assert result["_etag"] != item["_etag"]
    assert result["_rid"] == item["_rid"]
    assert result.get_response_headers()["etag"] == result["_etag"]


def test_integers_stay_integers(container, pk, item):
    result = container.patch_item("1", pk, [{"op": "incr", "path": "/a", "value": 1}])
    assert result["a"] == 2 and isinstance(result["a"], int)
