"""Time to live: an expired item is gone at once, for every way of looking."""

import time

import pytest
from azure.cosmos import PartitionKey

from expect import failure


def vanished(container, identity, pk, seconds=30.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            container.read_item(identity, pk)
        except Exception as error:
            assert error.status_code == 404
            return True
        time.sleep(0.1)
    return False


def test_container_default(new_container):
    made = new_container(default_ttl=1)
    made.create_item({"id": "short", "pk": "a"})
    made.create_item({"id": "kept", "pk": "a", "ttl": -1})
    made.create_item({"id": "longer", "pk": "a", "ttl": 1000})
    assert vanished(made, "short", "a")
    for rows in (made.read_all_items(), made.query_items("SELECT * FROM c", partition_key="a")):
        assert sorted(row["id"] for row in rows) == ["kept", "longer"]


def test_item_value_needs_the_container_switch(new_container):
    on, off = new_container(default_ttl=-1), new_container()
    for made in (on, off):
        made.create_item({"id": "1", "pk": "a", "ttl": 1})
        made.create_item({"id": "2", "pk": "a"})
    assert vanished(on, "1", "a")
    assert on.read_item("2", "a")["id"] == "2"
    assert off.read_item("1", "a")["ttl"] == 1


def test_expired_items_cannot_be_written_but_recreated(new_container):
    made = new_container(default_ttl=1)
    first = made.create_item({"id": "1", "pk": "a"})
    assert vanished(made, "1", "a")
    with failure(404):
        made.replace_item("1", {"id": "1", "pk": "a"})
    with failure(404):
        made.patch_item("1", "a", [{"op": "set", "path": "/b", "value": 1}])
    with failure(404):
        made.delete_item("1", "a")
    again = made.create_item({"id": "1", "pk": "a", "ttl": -1})
    assert again["_rid"] != first["_rid"]


def test_a_write_restarts_the_clock(new_container, database):
    made = new_container(default_ttl=-1)
    old = made.create_item({"id": "old", "pk": "a"})
    made.create_item({"id": "renewed", "pk": "a"})
    time.sleep(5)
    renewed = made.replace_item("renewed", {"id": "renewed", "pk": "a"})
    # What is as old as the first is over now; the second has as long to live once more.
    age = renewed["_ts"] - old["_ts"]
    assert age >= 5
    database.replace_container(made.id, PartitionKey("/pk"), default_ttl=age)
    assert made.read_item("renewed", "a") == renewed
    with failure(404):
        made.read_item("old", "a")


def test_unique_values_are_free_after_expiry(new_container):
    made = new_container(default_ttl=1, unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]})
    made.create_item({"id": "1", "pk": "a", "u": 1})
    assert vanished(made, "1", "a")
    made.create_item({"id": "2", "pk": "a", "u": 1})


@pytest.mark.parametrize("ttl", [0, -10, None, "10", 1.5, 2**31], ids=repr)
def test_impossible_values(new_container, ttl):
    made = new_container(default_ttl=-1)
    with failure(400):
        made.create_item({"id": "1", "pk": "a", "ttl": ttl})


def test_switching_off_keeps_items(new_container, database):
    made = new_container(default_ttl=1000)
    # Enough time to switch off while it lives.
    made.create_item({"id": "1", "pk": "a", "ttl": 5})
    database.replace_container(made.id, PartitionKey("/pk"))
    time.sleep(6)
    assert made.read_item("1", "a")["id"] == "1"
