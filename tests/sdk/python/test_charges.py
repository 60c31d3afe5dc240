"""Request charges: present everywhere, exact where the figure is published."""

import json

import pytest

from expect import Hook, charge, failure, sending

UNINDEXED = {"indexingMode": "none", "automatic": False}


def grow(container, identity, pk, size):
    """Stores an item whose text form, system properties included, has about `size` bytes."""
    item = container.upsert_item({"id": identity, "pk": pk, "pad": ""})
    used = len(json.dumps(item, separators=(",", ":")).encode())
    return container.upsert_item({"id": identity, "pk": pk, "pad": "x" * (size - used)})


def test_small_point_read_costs_one(container, pk):
    container.create_item({"id": "1", "pk": pk})
    headers = container.read_item("1", pk).get_response_headers()
    assert charge(headers) == 1.0


@pytest.mark.parametrize(
    "kilobytes, published",
    [(1, 1.00), (2, 1.04), (4, 1.14), (8, 1.33), (16, 1.67), (32, 2.19), (64, 4.76), (128, 9.95)],
)
def test_point_read_follows_the_published_table(container, pk, kilobytes, published):
    grow(container, "1", pk, kilobytes * 1024)
    headers = container.read_item("1", pk).get_response_headers()
    assert charge(headers) == pytest.approx(published, abs=0.02)


def test_writes_without_an_index(new_container):
    made = new_container(indexing_policy=UNINDEXED)
    hook = Hook()
    made.create_item({"id": "1", "pk": "a", "n": 1}, response_hook=hook)
    assert charge(hook.headers) == 5.0
    made.replace_item("1", {"id": "1", "pk": "a", "n": 2}, response_hook=hook)
    assert charge(hook.headers) == 10.0
    made.patch_item("1", "a", [{"op": "incr", "path": "/n", "value": 1}], response_hook=hook)
    assert charge(hook.headers) == pytest.approx(10.4)
    made.delete_item("1", "a", response_hook=hook)
    assert charge(hook.headers) == 5.0


def test_more_indexed_properties_cost_more(container, pk):
    hook = Hook()
    container.create_item({"id": "few", "pk": pk}, response_hook=hook)
    few = charge(hook.headers)
    many = {f"p{n}": n for n in range(10)}
    container.create_item({"id": "many", "pk": pk, **many}, response_hook=hook)
    assert charge(hook.headers) == pytest.approx(few + 0.2 * 10, abs=0.01)
    created = charge(hook.headers)
    container.delete_item("many", pk, response_hook=hook)
    assert charge(hook.headers) == pytest.approx(created, abs=0.01)


def test_same_work_costs_the_same(container, pk):
    container.create_item({"id": "1", "pk": pk})
    hook = Hook()
    charges = set()
    for _ in range(3):
        query = "SELECT * FROM c WHERE c.id = '1'"
        list(container.query_items(query, partition_key=pk, response_hook=hook))
        charges.add(charge(hook.headers))
    assert len(charges) == 1 and charges.pop() > 0


def test_failures_are_charged(container, pk):
    container.create_item({"id": "1", "pk": pk})
    with failure(404) as missing:
        container.read_item("none", pk)
    with failure(409) as conflict:
        container.create_item({"id": "1", "pk": pk})
    with failure(400) as bad:
        container.patch_item("1", pk, [{"op": "remove", "path": "/none"}])
    assert charge(missing.value.headers) == 1.0
    for caught in (conflict, bad):
        assert charge(caught.value.headers) > 0


def test_every_page_of_a_query_costs_at_least_one(container, pk):
    for n in range(3):
        container.create_item({"id": str(n), "pk": pk})
    hook = Hook()
    pages = container.query_items("SELECT * FROM c", partition_key=pk, max_item_count=1, response_hook=hook).by_page()
    charges = []
    for page in pages:
        list(page)
        charges.append(charge(hook.headers))
    assert len(charges) >= 3
    assert min(charges) >= 1


def test_feeds_are_charged_by_bytes(new_container):
    made = new_container()
    for n in range(20):
        made.create_item({"id": str(n), "pk": "a"})
    assert len(list(made.read_all_items())) == 20
    # Some 280 bytes each: a few kilobytes together.
    assert 4 < charge(made.client_connection.last_response_headers) < 8
    hook = Hook()
    changes = made.query_items_change_feed(start_time="Beginning", partition_key="a", response_hook=hook)
    first = next(changes.by_page())
    assert len(list(first)) == 20
    assert 4 < charge(hook.headers) < 8


def test_no_item_count_lets_the_server_choose(container, pk):
    container.create_item({"id": "1", "pk": pk})
    # The SDK takes a zero for no count at all, and sends none.
    zero = sending("x-ms-max-item-count", "0")
    for page in (
        container.query_items("SELECT * FROM c", partition_key=pk, **zero),
        container.read_all_items(**zero),
        container.query_items_change_feed(partition_key=pk, start_time="Beginning", **zero),
    ):
        assert "1" in [item["id"] for item in page if item["pk"] == pk]
