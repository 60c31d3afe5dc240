"""Transactional batch: all or nothing, in order."""

import pytest
from azure.cosmos.exceptions import CosmosBatchOperationError

from expect import Hook, charge, failure, without_system


def create(identity, pk, **more):
    return ("create", ({"id": identity, "pk": pk, **more},))


def statuses(results):
    return [row["statusCode"] for row in results]


def test_every_kind_in_order(container, pk):
    for name in ("replaced", "patched", "deleted", "read"):
        container.create_item({"id": name, "pk": pk, "n": 0})
    results = container.execute_item_batch(
        [
            create("created", pk),
            ("upsert", ({"id": "upserted", "pk": pk},)),
            ("replace", ("replaced", {"id": "replaced", "pk": pk, "n": 1})),
            ("patch", ("patched", [{"op": "incr", "path": "/n", "value": 5}])),
            ("read", ("read",)),
            ("delete", ("deleted",)),
            ("upsert", ({"id": "upserted", "pk": pk, "n": 2},)),
        ],
        pk,
    )
    assert statuses(results) == [201, 201, 200, 200, 200, 204, 200]
    assert results[3]["resourceBody"]["n"] == 5
    assert results[4]["resourceBody"] == container.read_item("read", pk)
    assert "resourceBody" not in results[5] or results[5]["resourceBody"] is None
    for row in results[:5]:
        assert row["eTag"] == row["resourceBody"]["_etag"]
        assert row["requestCharge"] > 0
    assert container.read_item("upserted", pk)["n"] == 2
    with failure(404):
        container.read_item("deleted", pk)


def test_later_operations_see_earlier_ones(container, pk):
    results = container.execute_item_batch(
        [
            create("1", pk, n=1),
            ("patch", ("1", [{"op": "incr", "path": "/n", "value": 1}])),
            ("read", ("1",)),
            ("replace", ("1", {"id": "1", "pk": pk, "n": 9})),
        ],
        pk,
    )
    assert statuses(results) == [201, 200, 200, 200]
    assert results[2]["resourceBody"]["n"] == 2
    assert container.read_item("1", pk)["n"] == 9


FAILING = {
    "conflict": (lambda pk: create("taken", pk), 409),
    "missing read": (lambda pk: ("read", ("missing",)), 404),
    "missing delete": (lambda pk: ("delete", ("missing",)), 404),
    "missing replace": (lambda pk: ("replace", ("missing", {"id": "missing", "pk": pk})), 404),
    "missing patch": (
        lambda pk: ("patch", ("missing", [{"op": "set", "path": "/a", "value": 1}])),
        404,
    ),
    "impossible patch": (lambda pk: ("patch", ("taken", [{"op": "remove", "path": "/none"}])), 400),
    "false condition": (
        lambda pk: (
            "patch",
            ("taken", [{"op": "set", "path": "/a", "value": 1}]),
            {"filter_predicate": "from c where c.n = 5"},
        ),
        412,
    ),
    "stale etag": (
        lambda pk: ("replace", ("taken", {"id": "taken", "pk": pk}), {"if_match_etag": '"stale"'}),
        412,
    ),
    "present": (
        lambda pk: ("upsert", ({"id": "taken", "pk": pk},), {"if_none_match_etag": "*"}),
        412,
    ),
}


@pytest.mark.parametrize("failing, status", FAILING.values(), ids=FAILING.keys())
@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_failure_undoes_all(container, pk, failing, status, position):
    taken = container.create_item({"id": "taken", "pk": pk, "n": 0})
    operations = [create("x", pk), create("y", pk)]
    operations.insert(position, failing(pk))
    with pytest.raises(CosmosBatchOperationError) as caught:
        container.execute_item_batch(operations, pk)
    error = caught.value
    assert error.error_index == position
    assert error.status_code == status
    expected = [424, 424]
    expected.insert(position, status)
    assert statuses(error.operation_responses) == expected
    for name in ("x", "y"):
        with failure(404):
            container.read_item(name, pk)
    assert container.read_item("taken", pk) == taken


def test_etag_conditions_that_hold(container, pk):
    item = container.create_item({"id": "1", "pk": pk, "n": 0})
    results = container.execute_item_batch(
        [
            ("replace", ("1", {"id": "1", "pk": pk, "n": 1}), {"if_match_etag": item["_etag"]}),
            ("upsert", ({"id": "2", "pk": pk},), {"if_none_match_etag": "*"}),
            (
                "patch",
                ("1", [{"op": "incr", "path": "/n", "value": 1}]),
                {"filter_predicate": "from c where c.n = 1"},
            ),
        ],
        pk,
    )
    assert statuses(results) == [200, 201, 200]
    assert container.read_item("1", pk)["n"] == 2


def test_empty_batch(container, pk):
    with failure(400, message="Batch request has no operations."):
        container.execute_item_batch([], pk)


def test_hundred_operations_are_the_limit(container, pk):
    results = container.execute_item_batch([create(str(n), pk) for n in range(100)], pk)
    assert len(results) == 100
    assert [row["resourceBody"]["id"] for row in results] == [str(n) for n in range(100)]
    with failure(400, message="Batch request has more operations than what is supported."):
        container.execute_item_batch([create(f"m{n}", pk) for n in range(101)], pk)


def test_two_megabytes_are_the_limit(container, pk):
    text = "x" * 1_100_000
    with failure(413) as caught:
        container.execute_item_batch([create("a", pk, t=text), create("b", pk, t=text)], pk)
    assert str(caught.value).startswith("(RequestEntityTooLarge)")


def test_item_of_another_partition_key_is_refused(container, pk):
    with pytest.raises(Exception) as caught:
        container.execute_item_batch([create("1", pk), create("2", "elsewhere")], pk)
    assert caught.value.status_code == 400
    with failure(404):
        container.read_item("1", pk)


def test_batch_on_a_missing_container(database, pk):
    with failure(404):
        database.get_container_client("not-there").execute_item_batch([create("1", pk)], pk)


def test_batch_is_one_step_of_the_session(new_container):
    made = new_container()
    lsn = lambda result: int(result.get_response_headers()["x-ms-session-token"].split("#")[-1])
    before = lsn(made.create_item({"id": "0", "pk": "a"}))
    after = lsn(made.execute_item_batch([create(str(n), "a") for n in range(1, 6)], "a"))
    assert after == before + 1


def test_unique_keys_hold_inside_a_batch(new_container):
    made = new_container(unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]})
    with pytest.raises(CosmosBatchOperationError) as caught:
        made.execute_item_batch([create("1", "a", u=1), create("2", "a", u=1)], "a")
    assert (caught.value.status_code, caught.value.error_index) == (409, 1)
    made.execute_item_batch([create("1", "a", u=1), ("delete", ("1",)), create("2", "a", u=1)], "a")
    assert [without_system(row) for row in made.read_all_items()] == [
        {"id": "2", "pk": "a", "u": 1}
    ]


def test_charge_of_the_batch(container, pk):
    text = "x" * 5000
    operations = [
        create("1", pk),
        create("2", pk, t=text),
        ("read", ("2",)),
        ("patch", ("1", [{"op": "set", "path": "/n", "value": 1}])),
        ("delete", ("2",)),
    ]
    results = container.execute_item_batch(operations, pk)
    total = float(results.get_response_headers()["x-ms-request-charge"])
    charges = [row["requestCharge"] for row in results]
    assert min(charges) > 0
    assert total == pytest.approx(sum(charges), abs=0.01)


@pytest.mark.parametrize("position", [0, 1, 3])
def test_charge_of_a_batch_that_fails(container, pk, position):
    """What was undone is charged too, and told at the operation that was refused."""
    container.create_item({"id": "taken", "pk": pk})
    operations = [create(str(n), pk, t="x" * 5000) for n in range(3)]
    operations.insert(position, create("taken", pk))
    with pytest.raises(CosmosBatchOperationError) as caught:
        container.execute_item_batch(operations, pk)
    error = caught.value
    charges = [row["requestCharge"] for row in error.operation_responses]
    total = float(error.headers["x-ms-request-charge"])
    assert total == pytest.approx(sum(charges), abs=0.01)
    alone = Hook()
    container.create_item({"id": "alone", "pk": pk, "t": "x" * 5000}, response_hook=alone)
    assert total >= position * charge(alone.headers)
