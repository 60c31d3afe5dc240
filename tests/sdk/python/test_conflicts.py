"""Accounts in which every region writes: what becomes of writes that did not see each other."""

import json
from contextlib import contextmanager

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError, CosmosResourceNotFoundError

from conftest import unique
from expect import failure
from regions import NORTH, WEST, Account, Trace, wait_until

BOTH = (WEST, NORTH)
BY_RANK = {"mode": "LastWriterWins", "conflictResolutionPath": "/rank"}
BY_HAND = {"mode": "Custom"}
# Adds the versions up. Run twice it would add too much.
SUM = """
function sum(incoming, existing, isTombstone, others) {
  const collection = getContext().getCollection();
  if (isTombstone || !existing) { return; }
  let n = existing.n + (incoming ? incoming.n : 0);
  others.forEach((other) => { n += other.n; });
  existing.n = n;
  existing.runs = (existing.runs || 0) + 1;
  if (!collection.replaceDocument(existing._self, existing)) { throw new Error("not accepted"); }
}
"""


@pytest.fixture(scope="module")
def account():
    started = Account(*BOTH, multi_write=True)
    with started.client() as client:
        client.create_database("db")
    yield started
    started.stop()


@contextmanager
def clients(account):
    """A client of each region, that writes there."""
    options = {"multiple_write_locations": True}
    with (
        account.client(WEST, NORTH, **options) as west,
        account.client(NORTH, WEST, **options) as north,
    ):
        yield west, north


@pytest.fixture
def regions(account):
    with clients(account) as both:
        yield both


@pytest.fixture
def make(regions):
    """Makes a container; gives it as each region has it."""

    def make(policy, **options):
        name = unique("c")
        database = regions[0].get_database_client("db")
        database.create_container(
            name, PartitionKey("/pk"), conflict_resolution_policy=policy, **options
        )
        both = [
            client.get_database_client("db").get_container_client(name) for client in regions
        ]
        wait_until(lambda: all(exists(container) for container in both))
        return both

    return make


def exists(container):
    try:
        container.read()
        return True
    except CosmosResourceNotFoundError:
        return False


@contextmanager
def apart(account):
    """Nothing goes from one region to the other; then each gets all that the other wrote."""
    account.link("*", "*", "cut")
    try:
        yield
    finally:
        account.link("*", "*", "resume")
    wait_until(lambda: all(link["behind"]["records"] == 0 for link in account.report()["links"]))


def item(container, id="1", pk="p"):
    try:
        return dict(container.read_item(id, pk))
    except CosmosResourceNotFoundError:
        return None


def wait_alike(both, holds, id="1"):
    """Until both regions show the same, byte for byte, and it is what is meant."""

    def is_alike():
        west, north = (item(container, id) for container in both)
        return json.dumps(west) == json.dumps(north) and holds(west)

    wait_until(is_alike)


def conflicts(container):
    return list(container.list_conflicts())


def test_the_greater_number_wins_everywhere(account, make):
    both = west, north = make(BY_RANK)
    with apart(account):
        west.create_item({"id": "1", "pk": "p", "rank": 2, "from": "west"})
        north.create_item({"id": "1", "pk": "p", "rank": 1, "from": "north"})
        assert item(north)["from"] == "north"
    wait_alike(both, lambda shown: shown["from"] == "west")
    with apart(account):
        west.replace_item("1", {"id": "1", "pk": "p", "rank": 3, "from": "west"})
        north.replace_item("1", {"id": "1", "pk": "p", "rank": 4, "from": "north"})
    wait_alike(both, lambda shown: shown["from"] == "north")
    assert conflicts(west) == conflicts(north) == []


def test_a_delete_wins(account, make):
    both = west, north = make(BY_RANK)
    west.create_item({"id": "1", "pk": "p", "rank": 1})
    wait_alike(both, lambda shown: shown is not None)
    with apart(account):
        west.upsert_item({"id": "1", "pk": "p", "rank": 99})
        north.delete_item("1", "p")
    wait_alike(both, lambda shown: shown is None)
    north.create_item({"id": "1", "pk": "p", "rank": 0})
    wait_alike(both, lambda shown: shown and shown["rank"] == 0)


def test_patches_and_batches_are_versions_like_others(account, make):
    both = west, north = make(BY_RANK)
    west.execute_item_batch(
        [("create", ({"id": id, "pk": "p", "rank": 0, "n": 0},)) for id in ("1", "2")], "p"
    )
    wait_alike(both, lambda shown: shown is not None)
    with apart(account):
        west.patch_item("1", "p", [{"op": "incr", "path": "/n", "value": 5}])
        north.execute_item_batch(
            [
                ("patch", ("1", [{"op": "set", "path": "/rank", "value": 1}])),
                ("patch", ("2", [{"op": "incr", "path": "/n", "value": 7}])),
                ("create", ({"id": "3", "pk": "p", "rank": 0, "n": 0},)),
            ],
            "p",
        )
    # Whole versions are compared: the increment is in the one that lost.
    wait_alike(both, lambda shown: (shown["rank"], shown["n"]) == (1, 0))
    wait_alike(both, lambda shown: shown["n"] == 7, "2")
    wait_alike(both, lambda shown: shown is not None, "3")


def test_of_items_with_one_unique_value_one_stays(account, make):
    unique_keys = {"uniqueKeys": [{"paths": ["/mail"]}]}
    both = west, north = make(BY_RANK, unique_key_policy=unique_keys)
    with apart(account):
        west.create_item({"id": "w", "pk": "p", "mail": "a", "rank": 1})
        north.create_item({"id": "n", "pk": "p", "mail": "a", "rank": 2})
    wait_alike(both, lambda shown: shown is None, "w")
    wait_alike(both, lambda shown: shown is not None, "n")
    with pytest.raises(CosmosHttpResponseError) as refused:
        west.create_item({"id": "x", "pk": "p", "mail": "a", "rank": 9})
    assert refused.value.status_code == 409


def test_an_etag_of_the_version_that_lost_is_refused(account, make):
    both = west, north = make(BY_RANK)
    with apart(account):
        lost = west.create_item({"id": "1", "pk": "p", "rank": 1})
        north.create_item({"id": "1", "pk": "p", "rank": 2})
    wait_alike(both, lambda shown: shown["rank"] == 2)
    with pytest.raises(CosmosHttpResponseError) as refused:
        west.replace_item(
            "1",
            {"id": "1", "pk": "p", "rank": 3},
            etag=lost["_etag"],
            match_condition=MatchConditions.IfNotModified,
        )
    assert refused.value.status_code == 412


def test_the_feed_lists_what_lost_until_it_is_deleted(account, make):
    both = west, north = make(BY_HAND)
    with apart(account):
        west.create_item({"id": "1", "pk": "p", "from": "west"})
        north.create_item({"id": "1", "pk": "p", "from": "north"})
    wait_until(lambda: len(conflicts(west)) == 1 and conflicts(west) == conflicts(north))
    [conflict] = conflicts(north)
    shown, lost = item(north), json.loads(conflict["content"])
    assert {shown["from"], lost["from"]} == {"west", "north"}
    assert (conflict["operationType"], conflict["resourceId"]) == ("create", shown["_rid"])
    assert west.get_conflict(conflict["id"], "p") == conflict
    assert west.get_conflict(conflict, "p") == conflict
    queries = [
        {"partition_key": "p"},
        {"enable_cross_partition_query": True},
    ]
    for options in queries:
        assert list(west.query_conflicts("SELECT * FROM c", **options)) == [conflict]
    assert list(west.query_conflicts("SELECT * FROM c", partition_key="q")) == []
    with failure(400, message="Cross partition query is required but disabled"):
        list(west.query_conflicts("SELECT * FROM c"))

    north.delete_conflict(conflict, "p")
    wait_until(lambda: conflicts(west) == conflicts(north) == [])
    wait_alike(both, lambda after: after == shown)
    with pytest.raises(CosmosResourceNotFoundError):
        west.get_conflict(conflict["id"], "p")


def test_a_write_that_has_seen_a_conflict_ends_it(account, make):
    both = west, north = make(BY_HAND)
    west.create_item({"id": "1", "pk": "p", "n": 0})
    wait_alike(both, lambda shown: shown is not None)
    with apart(account):
        for n, container in enumerate(both, 1):
            container.replace_item("1", {"id": "1", "pk": "p", "n": n})
    wait_until(lambda: len(conflicts(north)) == 1)
    [conflict] = conflicts(north)
    assert conflict["operationType"] == "replace"
    merged = json.loads(conflict["content"])["n"] + item(north)["n"]
    north.replace_item("1", {"id": "1", "pk": "p", "n": merged})
    wait_alike(both, lambda shown: shown["n"] == 3)
    assert conflicts(west) == conflicts(north) == []
    # As an application does that decides and then tidies up.
    north.delete_conflict(conflict, "p")


def test_a_procedure_decides_once(account, make):
    procedure = "dbs/db/colls/c/sprocs/sum"
    both = west, north = make({"mode": "Custom", "conflictResolutionProcedure": procedure})
    west.scripts.create_stored_procedure({"id": "sum", "body": SUM})
    west.create_item({"id": "1", "pk": "p", "n": 0})
    wait_alike(both, lambda shown: shown is not None)
    with apart(account):
        west.replace_item("1", {"id": "1", "pk": "p", "n": 5})
        north.replace_item("1", {"id": "1", "pk": "p", "n": 7})
    wait_alike(both, lambda shown: (shown["n"], shown.get("runs")) == (12, 1))
    wait_until(lambda: conflicts(west) == conflicts(north) == [])


def test_items_expire_everywhere(account, make):
    both = west, north = make(BY_RANK, default_ttl=-1)
    # It gets its second to live when both have it: seconds are whole, so one may be over at once.
    north.create_item({"id": "1", "pk": "p"})
    wait_alike(both, lambda shown: shown is not None)
    north.replace_item("1", {"id": "1", "pk": "p", "ttl": 1})
    wait_alike(both, lambda shown: shown is None)


def test_a_session_holds_in_the_other_region(account, make):
    west, north = make(BY_RANK)
    trace = Trace(account)
    with account.paused(NORTH, WEST):
        written = north.create_item({"id": "1", "pk": "p"}, **trace.options())
        assert trace.take() == [(NORTH, 201, 0)]
        token = written.get_response_headers()["x-ms-session-token"]
        assert item(west) is None
        found = west.read_item("1", "p", session_token=token, **trace.options())
        assert found["id"] == "1"
        # It asks twice before it looks elsewhere.
        assert trace.take() == [(WEST, 404, 1002)] * 2 + [(NORTH, 200, 0)]
    wait_until(lambda: item(west) is not None)


def test_the_catalogue_is_changed_in_the_hub(account, regions):
    trace = Trace(account)
    name = unique("c")
    database = regions[1].get_database_client("db")
    database.create_container(name, PartitionKey("/pk"), **trace.options())
    assert trace.take()[-1] == (WEST, 201, 0)
