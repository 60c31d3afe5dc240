"""Ids that are awkward in a URL name the same item in every verb."""

import pytest

from expect import failure

IDS = {
    "plain": "Test",
    "inner spaces": "This is a test",
    "leading space": " Test",
    "latin": "WithUnicode-é",
    "cyrillic": "Привет",
    "chinese": "鱀鱀",
    "emoji": "🌍👩‍👩‍👧",
    "combining": "e\u0301",
    "punctuation": ",=.:~+-@()^${}[]!_",
    "plus": "a+b c",
    "percent": "100%",
    "percent twenty": "literal%20space",
    "percent letters": "literal%E9%B1%80",
    "percent twice": "%2520",
    "double quote": 'say "hi"',
    "single quote": "it's",
    "ampersand": "a&b=c;d",
    "angle": "<a|b>`",
    "star": "*",
    "dots": "...",
    "two dots": "a..b",
    "looks like a rid": "kRNGAOrVWJoBAAAAAAAAAA==",
    "looks like a keyword": "docs",
    "long": "x" * 1023,
}


@pytest.mark.parametrize("identity", IDS.values(), ids=IDS.keys())
def test_every_verb(container, pk, identity):
    created = container.create_item({"id": identity, "pk": pk, "n": 0})
    assert created["id"] == identity
    assert container.read_item(identity, pk) == created
    assert container.replace_item(identity, {"id": identity, "pk": pk, "n": 1})["n"] == 1
    assert container.upsert_item({"id": identity, "pk": pk, "n": 2})["n"] == 2
    patched = container.patch_item(identity, pk, [{"op": "incr", "path": "/n", "value": 1}])
    assert patched["n"] == 3
    found = list(
        container.query_items(
            "SELECT * FROM c WHERE c.id = @id",
            parameters=[{"name": "@id", "value": identity}],
            partition_key=pk,
        )
    )
    assert [row["n"] for row in found] == [3]
    container.delete_item(identity, pk)
    with failure(404):
        container.read_item(identity, pk)


@pytest.mark.parametrize("value", IDS.values(), ids=IDS.keys())
def test_as_partition_key(container, value):
    created = container.create_item({"id": "as-key", "pk": value})
    assert container.read_item("as-key", value) == created
    found = list(container.query_items("SELECT * FROM c", partition_key=value))
    assert created in found
    container.delete_item("as-key", value)


def test_ids_are_case_sensitive(container, pk):
    for identity in ("a", "A"):
        container.create_item({"id": identity, "pk": pk, "mine": identity})
    for identity in ("a", "A"):
        assert container.read_item(identity, pk)["mine"] == identity


def test_id_longer_than_1023_bytes_is_refused(container, pk):
    with failure(400, message="1024"):
        container.create_item({"id": "x" * 1024, "pk": pk})
    with failure(400):
        container.create_item({"id": "é" * 512, "pk": pk})
