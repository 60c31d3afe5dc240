"""Deleting a whole logical partition."""

import time

from azure.cosmos import PartitionKey
from azure.cosmos.partition_key import NonePartitionKeyValue

from expect import Hook, charge, failure


def emptied(container, key):
    """The effect may arrive a moment after the answer."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not list(container.query_items("SELECT * FROM c", partition_key=key)):
            return True
        time.sleep(0.1)
    return False


def test_only_that_key_goes(new_container):
    made = new_container(offer_throughput=10000)
    for key in ("gone", "kept"):
        for n in range(10):
            made.create_item({"id": str(n), "pk": key})
    hook = Hook()
    made.delete_all_items_by_partition_key("gone", response_hook=hook)
    assert charge(hook.headers) > 0
    assert emptied(made, "gone")
    with failure(404):
        made.read_item("0", "gone")
    assert len(list(made.query_items("SELECT * FROM c", partition_key="kept"))) == 10
    made.create_item({"id": "0", "pk": "gone", "again": True})
    assert made.read_item("0", "gone")["again"] is True


def test_items_without_a_key(new_container):
    made = new_container()
    made.create_item({"id": "1"})
    made.create_item({"id": "1", "pk": None})
    made.delete_all_items_by_partition_key(NonePartitionKeyValue)
    assert emptied(made, NonePartitionKeyValue)
    assert made.read_item("1", None)["id"] == "1"


def test_hierarchical_whole_key(new_container):
    made = new_container(PartitionKey(["/a", "/b"], kind="MultiHash"))
    made.create_item({"id": "1", "a": "x", "b": "1"})
    made.create_item({"id": "1", "a": "x", "b": "2"})
    made.delete_all_items_by_partition_key(["x", "1"])
    assert emptied(made, ["x", "1"])
    assert made.read_item("1", ["x", "2"])["id"] == "1"


def test_key_without_items_is_fine(container):
    container.delete_all_items_by_partition_key("nobody-has-this-key")


def test_unique_values_are_free_again(new_container):
    made = new_container(unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]})
    made.create_item({"id": "1", "pk": "a", "u": 1})
    made.delete_all_items_by_partition_key("a")
    assert emptied(made, "a")
    made.create_item({"id": "2", "pk": "a", "u": 1})
