"""Which regions a client is told of, and where its requests go then."""

import pytest
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from conftest import asynchronous
from regions import ASIA, NORTH, WEST, Account, Trace

EVERYWHERE = "SELECT * FROM c"


@pytest.fixture(scope="module")
def account():
    # Nothing is to change the write region: a machine that stands still for seconds looks like a lost one.
    started = Account(WEST, NORTH, ASIA, service_managed_failover="off").prepare()
    yield started
    started.stop()


@pytest.mark.parametrize("asked", [WEST, NORTH, ASIA])
def test_every_region_lists_all_of_them_in_order(account, asked):
    with account.client(at=asked) as client:
        found = client.get_database_account()
    listed = [(row["name"], row["databaseAccountEndpoint"]) for row in found.ReadableLocations]
    assert listed == [(name, account.endpoint(name)) for name in (WEST, NORTH, ASIA)]
    assert found.WritableLocations == found.ReadableLocations[:1]
    assert found.ConsistencyPolicy["defaultConsistencyLevel"] == "Session"


@pytest.mark.parametrize(
    "preferred, excluded_by_client, excluded, region",
    [
        ([], [], [], WEST),
        ([WEST, NORTH], [], [], WEST),
        ([NORTH, WEST], [], [], NORTH),
        ([ASIA, NORTH], [], [], ASIA),
        (["northeurope"], [], [], NORTH),
        (["East US 2", ASIA], [], [], ASIA),
        (["East US 2"], [], [], WEST),
        ([NORTH, ASIA], [], [NORTH], ASIA),
        ([NORTH, ASIA], [NORTH], [], ASIA),
        ([NORTH, ASIA, WEST], [NORTH], [ASIA], NORTH),
    ],
)
def test_reads_go_to_the_preferred_region_and_writes_to_theirs(
    account, pk, preferred, excluded_by_client, excluded, region
):
    trace = Trace(account)
    hook = trace.options()
    where = {"excluded_locations": excluded} if excluded else {}
    with account.container(*preferred, excluded_locations=excluded_by_client) as container:
        container.create_item({"id": "1", "pk": pk}, **hook)
        container.replace_item("1", {"id": "1", "pk": pk, "n": 1}, **hook)
        container.patch_item("1", pk, [{"op": "incr", "path": "/n", "value": 1}], **hook)
        container.upsert_item({"id": "2", "pk": pk}, **hook)
        container.execute_item_batch([("create", ({"id": "3", "pk": pk},))], pk, **hook)
        container.delete_item("3", pk, **hook)
        assert {attempt[0] for attempt in trace.take()} == {WEST}

        account.wait_even()
        assert container.read_item("1", pk, **hook, **where)["n"] == 2
        assert len(list(container.query_items(EVERYWHERE, partition_key=pk, **hook, **where))) == 2
        # This version of the SDK fails when one call of this excludes regions.
        if not excluded:
            assert len(container.read_items([("1", pk), ("2", pk)], **hook)) == 2
        feed = container.query_items_change_feed(
            start_time="Beginning", partition_key=pk, **hook, **where
        )
        assert len(list(feed)) == 2
        assert {attempt[0] for attempt in trace.take()} == {region}


def test_a_read_only_client_of_a_region_cannot_write_there(account, pk):
    """Without discovery of endpoints the client stays where it was sent, and hears why."""
    trace = Trace(account)
    with account.container(at=NORTH, enable_endpoint_discovery=False) as container:
        with pytest.raises(Exception) as caught:
            container.create_item({"id": "1", "pk": pk}, **trace.options())
        assert (caught.value.status_code, caught.value.sub_status) == (403, 3)
        assert trace.take() == [(NORTH, 403, 3)]


@asynchronous
async def test_the_asynchronous_client_goes_the_same_ways(account, pk):
    trace = Trace(account)
    endpoint, preferred = account.server.endpoint, [ASIA, WEST]
    async with AsyncCosmosClient(endpoint, account.key, preferred_locations=preferred) as client:
        container = client.get_database_client("db").get_container_client("c")
        await container.create_item({"id": "1", "pk": pk}, **trace.options())
        assert trace.take() == [(WEST, 201, 0)]
        account.wait_even()
        await container.read_item("1", pk, **trace.options())
        assert trace.take() == [(ASIA, 200, 0)]
        await container.read_item("1", pk, excluded_locations=[ASIA], **trace.options())
        assert trace.take() == [(WEST, 200, 0)]
