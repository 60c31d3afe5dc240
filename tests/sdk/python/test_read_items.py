"""Reading many items by id and key at once."""

from azure.cosmos.partition_key import NonePartitionKeyValue


def ids(rows):
    return sorted(row["id"] for row in rows)


def test_nothing_asked(wide_container):
    assert list(wide_container.read_items([])) == []


def test_one_item(wide_container):
    assert ids(wide_container.read_items([("i3", "k3")])) == ["i3"]


def test_a_few_over_three_partitions(wide_container):
    wanted = [(f"i{n}", f"k{n}") for n in range(12)]
    found = wide_container.read_items(wanted)
    assert ids(found) == sorted(name for name, _ in wanted)
    assert float(found.get_response_headers()["x-ms-request-charge"]) > 0


def test_all_hundred(wide_container):
    wanted = [(f"i{n}", f"k{n % 50}") for n in range(100)]
    assert [row["id"] for row in wide_container.read_items(wanted)] == [name for name, _ in wanted]


def test_several_of_one_key(wide_container):
    assert ids(wide_container.read_items([("i7", "k7"), ("i57", "k7")])) == ["i57", "i7"]


def test_missing_ones_are_left_out(wide_container):
    wanted = [("i1", "k1"), ("i1", "k2"), ("none", "k1"), ("i2", "k2")]
    assert ids(wide_container.read_items(wanted)) == ["i1", "i2"]


def test_hundreds_where_the_id_is_the_key(new_container):
    made = new_container("/id", offer_throughput=18000)
    names = [f"n{n}" for n in range(300)]
    for name in names:
        made.create_item({"id": name})
    assert ids(made.read_items([(name, name) for name in names])) == sorted(names)


def test_items_without_a_key(new_container):
    made = new_container()
    for name in ("a", "b", "c"):
        made.create_item({"id": name})
    found = made.read_items([("a", NonePartitionKeyValue)])
    assert ids(found) == ["a"]
