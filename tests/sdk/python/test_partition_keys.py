"""Partition key values of every type, nested paths, both hash versions."""

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from expect import failure

VALUES = ["text", "", "0", 0, 7, -3, 2.5, 1e300, -0.0, 9007199254740991, True, False]


@pytest.fixture(scope="module", params=[1, 2], ids=["v1", "v2"])
def versioned(request, database):
    name = f"keys-v{request.param}"
    yield database.create_container(
        name, PartitionKey("/pk", version=request.param), offer_throughput=10000
    )
    database.delete_container(name)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_scalar(versioned, value):
    item = versioned.create_item({"id": repr(value), "pk": value})
    assert versioned.read_item(repr(value), value) == item
    found = list(
        versioned.query_items(
            "SELECT * FROM c WHERE c.id = @id",
            parameters=[{"name": "@id", "value": repr(value)}],
            partition_key=value,
        )
    )
    assert found == [item]
    versioned.replace_item(repr(value), {"id": repr(value), "pk": value, "a": 1})
    versioned.delete_item(repr(value), value)


def test_null_and_missing_are_different(versioned):
    null = versioned.create_item({"id": "same", "pk": None})
    missing = versioned.create_item({"id": "same"})
    assert versioned.read_item("same", NullPartitionKeyValue) == null
    assert versioned.read_item("same", None) == null
    assert versioned.read_item("same", NonePartitionKeyValue) == missing
    versioned.delete_item("same", NonePartitionKeyValue)
    with failure(404):
        versioned.read_item("same", NonePartitionKeyValue)
    assert versioned.read_item("same", NullPartitionKeyValue) == null
    versioned.delete_item("same", NullPartitionKeyValue)


def test_missing_key_items_can_be_queried_and_replaced(versioned):
    item = versioned.create_item({"id": "none", "a": 1})
    found = list(versioned.query_items("SELECT * FROM c", partition_key=NonePartitionKeyValue))
    assert found == [item]
    assert versioned.replace_item("none", {"id": "none", "a": 2})["a"] == 2
    versioned.delete_item("none", NonePartitionKeyValue)


def test_number_text_does_not_matter(versioned):
    versioned.create_item({"id": "n", "pk": 5})
    assert versioned.read_item("n", 5.0)["id"] == "n"
    with failure(404):
        versioned.read_item("n", "5")
    versioned.delete_item("n", 5)


@pytest.mark.parametrize("value", [{"a": 1}, {}], ids=repr)
def test_an_object_at_the_path_is_a_missing_key(versioned, value):
    item = versioned.create_item({"id": "odd", "pk": value})
    assert versioned.read_item("odd", NonePartitionKeyValue) == item
    query = "SELECT * FROM c WHERE c.pk = @pk"
    parameters = [{"name": "@pk", "value": value}]
    found = versioned.query_items(query, parameters=parameters, enable_cross_partition_query=True)
    assert list(found) == [item]
    with failure(409):
        versioned.create_item({"id": "odd"})
    versioned.delete_item("odd", NonePartitionKeyValue)


def test_the_client_names_an_array_as_the_key(container):
    # Other clients send such a key as missing; this one sends the array, which is no component.
    with failure(400):
        container.create_item({"id": "odd", "pk": ["a"]})


def test_nested_path(new_container):
    made = new_container("/a/b")
    item = made.create_item({"id": "1", "a": {"b": "deep"}})
    assert made.read_item("1", "deep") == item
    missing = made.create_item({"id": "2", "a": "not an object"})
    assert made.read_item("2", NonePartitionKeyValue) == missing


def test_quoted_path(new_container):
    made = new_container('/"first name"/"a/b"')
    item = made.create_item({"id": "1", "first name": {"a/b": "x"}})
    assert made.read_item("1", "x") == item


def test_id_as_partition_key(new_container):
    made = new_container("/id")
    item = made.create_item({"id": "1"})
    assert made.read_item("1", "1") == item


def test_long_values(new_container):
    made = new_container(version=2)
    values = ["x" * 100, "x" * 101, "x" * 500 + "a", "x" * 500 + "b"]
    for value in values:
        made.create_item({"id": "1", "pk": value, "length": len(value), "end": value[-1]})
    for value in values:
        read = made.read_item("1", value)
        assert (read["length"], read["end"]) == (len(value), value[-1])


def test_version_1_looks_at_the_beginning_only(new_container):
    made = new_container(version=1)
    made.create_item({"id": "1", "pk": "x" * 500 + "a"})
    with failure(409):
        made.create_item({"id": "1", "pk": "x" * 500 + "b"})
    made.create_item({"id": "1", "pk": "y" * 500})


def test_value_longer_than_2048_bytes_is_refused(container):
    with failure(400):
        container.create_item({"id": "1", "pk": "x" * 2049})


def test_point_read_without_a_key_is_refused(container, pk):
    container.create_item({"id": "1", "pk": pk})
    link = f"{container.container_link}/docs/1"
    with failure(400, message="PartitionKey value must be supplied for this operation."):
        container.client_connection.ReadItem(link)
