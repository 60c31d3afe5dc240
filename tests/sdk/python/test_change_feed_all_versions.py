"""The change feed of all versions and deletes, of containers that keep them."""

import time

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from changes import changes, split

MODE = "AllVersionsAndDeletes"
POLICY = {"retentionDuration": 10}


def start(container, **options):
    found, continuation = changes(container, start_time="Now", mode=MODE, **options)
    assert found == []
    return continuation


def summary(change):
    meta = change["metadata"]
    body = change.get("current") or change.get("previous") or {}
    return (meta["operationType"], body.get("id"), body.get("n"))


@pytest.fixture
def kept(new_container):
    return new_container(change_feed_policy=POLICY)


@pytest.mark.parametrize("asks", [False, True], ids=["retention", "previous images"])
def test_every_version(new_container, asks):
    policy = {**POLICY, "previousImages": True} if asks else POLICY
    kept = new_container(change_feed_policy=policy)
    assert kept.read()["changeFeedPolicy"] == policy
    continuation = start(kept)
    first = kept.create_item({"id": "1", "pk": "a", "n": 1})
    second = kept.upsert_item({"id": "1", "pk": "a", "n": 2})
    third = kept.replace_item("1", {"id": "1", "pk": "a", "n": 3})
    kept.delete_item("1", "a")
    found, continuation = changes(kept, continuation=continuation)
    assert [summary(change) for change in found] == [
        ("create", "1", 1),
        ("replace", "1", 2),
        ("replace", "1", 3),
        ("delete", "1", 3),
    ]
    created, upserted, replaced, deleted = found
    assert created["current"] == first and "previous" not in created
    assert upserted["current"] == second and replaced["current"] == third
    images = [first, second] if asks else [None, None]
    assert [change.get("previous") for change in (upserted, replaced)] == images
    assert deleted["previous"] == third and not deleted.get("current")
    lsns = [change["metadata"]["lsn"] for change in found]
    assert lsns == sorted(set(lsns))
    assert replaced["metadata"]["previousImageLSN"] == lsns[1]
    assert deleted["metadata"]["previousImageLSN"] == lsns[2]
    assert not deleted["metadata"].get("timeToLiveExpired")
    assert all(abs(change["metadata"]["crts"] - time.time()) < 60 for change in found)
    assert changes(kept, continuation=continuation)[0] == []


def test_expiry_is_marked(new_container):
    made = new_container(change_feed_policy=POLICY, default_ttl=-1)
    continuation = start(made)
    made.create_item({"id": "1", "pk": "a", "n": 1})
    # Last, since its second may be over at once.
    made.create_item({"id": "2", "pk": "a", "n": 2, "ttl": 1})
    seen = []
    deadline = time.monotonic() + 60
    while len(seen) < 3 and time.monotonic() < deadline:
        found, continuation = changes(made, continuation=continuation)
        seen += found
        time.sleep(0.1)
    assert [summary(change) for change in seen] == [
        ("create", "1", 1),
        ("create", "2", 2),
        ("delete", "2", 2),
    ]
    assert seen[2]["metadata"]["timeToLiveExpired"] is True


@pytest.mark.parametrize("size", [1, 3, 100])
def test_page_sizes_and_keys(new_container, size):
    made = new_container(change_feed_policy=POLICY, offer_throughput=18000)
    everything = start(made)
    one = start(made, partition_key="k1")
    ranges = [start(made, feed_range=part) for part in made.read_feed_ranges()]
    for n in range(12):
        made.create_item({"id": str(n), "pk": f"k{n % 4}", "n": n})
    for n in range(0, 12, 2):
        made.delete_item(str(n), f"k{n % 4}")
    found, _ = changes(made, continuation=everything, max_item_count=size)
    assert len(found) == 18
    in_key, _ = changes(made, continuation=one, max_item_count=size)
    assert [summary(change)[:2] for change in in_key] == [
        ("create", "1"),
        ("create", "5"),
        ("create", "9"),
    ]
    parts = [changes(made, continuation=part, max_item_count=size)[0] for part in ranges]
    assert sum(map(len, parts)) == 18
    assert {summary(change) for part in parts for change in part} == set(map(summary, found))


def test_across_a_split(server, new_container):
    made = new_container(change_feed_policy=POLICY, offer_throughput=400)
    continuation = start(made)
    for n in range(20):
        made.create_item({"id": str(n), "pk": f"k{n}", "n": 0})
    split(server, made)
    for n in range(20):
        made.upsert_item({"id": str(n), "pk": f"k{n}", "n": 1})
    for n in range(0, 20, 2):
        made.delete_item(str(n), f"k{n}")
    found, _ = changes(made, continuation=continuation, max_item_count=7)
    seen = {}
    for change in found:
        kind, identity, n = summary(change)
        seen.setdefault(identity, []).append((kind, n))
    kept, gone = [("create", 0), ("replace", 1)], [("create", 0), ("replace", 1), ("delete", 1)]
    assert seen == {str(n): kept if n % 2 else gone for n in range(20)}


def test_needs_a_retention(new_container):
    with pytest.raises(CosmosHttpResponseError) as caught:
        changes(new_container(), start_time="Now", mode=MODE)
    assert caught.value.status_code == 400


def test_the_policy_is_shown(kept):
    assert kept.read()["changeFeedPolicy"]["retentionDuration"] == 10
