"""Unique keys: per logical partition, for every kind of write."""

import pytest

from expect import failure


@pytest.fixture
def people(new_container):
    return new_container(
        unique_key_policy={
            "uniqueKeys": [{"paths": ["/mail"]}, {"paths": ["/name/first", "/name/last"]}]
        }
    )


def person(identity, mail, first="F", last=None, pk="a"):
    name = {"first": first, "last": last or identity}
    return {"id": identity, "pk": pk, "mail": mail, "name": name}


def test_create_collides(people):
    people.create_item(person("1", "x"))
    with failure(409):
        people.create_item(person("2", "x"))
    people.create_item(person("3", "y"))


def test_each_key_counts_on_its_own(people):
    people.create_item(person("1", "x", "A", "B"))
    people.create_item(person("2", "y", "A", "C"))
    with failure(409):
        people.create_item(person("3", "z", "A", "B"))


def test_scope_is_the_logical_partition(people):
    people.create_item(person("1", "x", pk="a"))
    people.create_item(person("1", "x", pk="b"))


def test_upsert_replace_and_patch_are_checked(people):
    people.create_item(person("1", "x"))
    second = people.create_item(person("2", "y"))
    with failure(409):
        people.upsert_item(person("2", "x"))
    with failure(409):
        people.upsert_item(person("3", "x"))
    with failure(409):
        people.replace_item("2", person("2", "x"))
    with failure(409):
        people.patch_item("2", "a", [{"op": "set", "path": "/mail", "value": "x"}])
    assert people.read_item("2", "a") == second


def test_an_item_may_keep_its_own_values(people):
    people.create_item(person("1", "x"))
    people.upsert_item(dict(person("1", "x"), more=1))
    people.replace_item("1", dict(person("1", "x"), more=2))


def test_a_value_is_free_after_change_or_delete(people):
    people.create_item(person("1", "x"))
    people.replace_item("1", person("1", "y"))
    people.create_item(person("2", "x"))
    people.delete_item("2", "a")
    people.create_item(person("3", "x"))


def test_missing_values_collide(new_container):
    made = new_container(unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]})
    made.create_item({"id": "1", "pk": "a"})
    with failure(409):
        made.create_item({"id": "2", "pk": "a"})
    with failure(409):
        made.create_item({"id": "3", "pk": "a", "u": None})
    made.create_item({"id": "4", "pk": "b"})


def test_values_differ_by_case_and_type(new_container):
    made = new_container(unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]})
    for n, value in enumerate(["a", "A", 1, "1", True, "true", 1.5, ""]):
        made.create_item({"id": str(n), "pk": "a", "u": value})
    with failure(409):
        made.create_item({"id": "again", "pk": "a", "u": 1.0})


def test_message_mentions_the_unique_index(people):
    people.create_item(person("1", "x"))
    with failure(409, message="unique index"):
        people.create_item(person("2", "x"))
