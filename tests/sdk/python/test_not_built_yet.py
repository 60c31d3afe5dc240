"""What later milestones bring says so today, instead of answering something wrong."""

import pytest
from azure.cosmos import PartitionKey

QUERIES = [
    "SELECT * FROM c ORDER BY c.n",
    "SELECT TOP 1 * FROM c",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT c.s, COUNT(1) FROM c GROUP BY c.s",
    "SELECT DISTINCT c.s FROM c",
    "SELECT * FROM c JOIN t IN c.list",
    "SELECT * FROM c OFFSET 1 LIMIT 1",
]


@pytest.fixture(scope="module")
def rows(database):
    made = database.create_container("not-built-yet", PartitionKey("/pk"))
    for n in range(3):
        made.create_item({"id": str(n), "pk": "p", "n": n, "s": "same", "list": [1, 2]})
    yield made
    database.delete_container(made.id)


def refused(action):
    with pytest.raises(Exception) as caught:
        action()
    assert caught.value.status_code in (400, 501), str(caught.value)


@pytest.mark.parametrize("query", QUERIES)
def test_query(rows, query):
    refused(lambda: list(rows.query_items(query, partition_key="p")))


def test_change_feed(rows):
    refused(lambda: list(rows.query_items_change_feed(start_time="Beginning")))


def test_conflict_feed(rows):
    refused(lambda: list(rows.list_conflicts()))


def test_scripts(rows):
    refused(lambda: rows.scripts.create_stored_procedure({"id": "s", "body": "function () {}"}))
    refused(lambda: rows.scripts.create_trigger({"id": "t", "body": "function () {}"}))
    refused(
        lambda: rows.scripts.create_user_defined_function({"id": "u", "body": "function () {}"})
    )
    refused(lambda: rows.create_item({"id": "x", "pk": "p"}, pre_trigger_include="t"))
