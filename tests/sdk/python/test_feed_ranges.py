"""Feed ranges: one for each physical partition, at the published boundaries."""

import pytest
from azure.cosmos import PartitionKey

V2_FULL = 2**126 - 1


def boundaries(container):
    found = [row["Range"] for row in container.read_feed_ranges()]
    return [(row["min"], row["max"]) for row in sorted(found, key=lambda row: row["min"])]


def v2(n):
    inner = [f"{V2_FULL // n * i:032X}" for i in range(1, n)]
    return list(zip([""] + inner, inner + ["FF"]))


@pytest.mark.parametrize(
    "throughput, partitions",
    [(400, 1), (10000, 1), (11000, 2), (12000, 2), (18000, 3), (30000, 5)],
)
def test_version_2(new_container, throughput, partitions):
    assert boundaries(new_container(offer_throughput=throughput)) == v2(partitions)


def test_version_2_in_words(new_container):
    assert boundaries(new_container(offer_throughput=18000)) == [
        ("", "1" + "5" * 31),
        ("1" + "5" * 31, "2" + "A" * 31),
        ("2" + "A" * 31, "FF"),
    ]


@pytest.mark.parametrize(
    "throughput, inner",
    [(400, []), (12000, ["05C1DFFFFFFFFC"]), (18000, ["05C1D5AB55AB54", "05C1E5AB55AB54"])],
)
def test_version_1(new_container, throughput, inner):
    made = new_container(version=1, offer_throughput=throughput)
    assert boundaries(made) == list(zip([""] + inner, inner + ["FF"]))


def test_hierarchical(new_container):
    made = new_container(PartitionKey(["/a", "/b"], kind="MultiHash"), offer_throughput=12000)
    assert boundaries(made) == v2(2)


def test_queries_by_feed_range_tile_the_container(wide_container):
    parts = []
    for feed_range in wide_container.read_feed_ranges():
        rows = wide_container.query_items("SELECT * FROM c", feed_range=feed_range)
        parts.append({row["id"] for row in rows})
    assert all(parts)
    assert sum(len(part) for part in parts) == 100
    assert set.union(*parts) == {f"i{n}" for n in range(100)}


def test_feed_range_of_a_key(wide_container):
    feed_range = wide_container.feed_range_from_partition_key("k7")
    owners = [
        part
        for part in wide_container.read_feed_ranges()
        if wide_container.is_feed_range_subset(part, feed_range)
    ]
    assert len(owners) == 1
    rows = wide_container.query_items("SELECT * FROM c", feed_range=feed_range)
    assert sorted(row["id"] for row in rows) == ["i57", "i7"]


def test_force_refresh(wide_container):
    before = list(wide_container.read_feed_ranges())
    assert list(wide_container.read_feed_ranges(force_refresh=True)) == before
