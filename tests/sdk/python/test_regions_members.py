"""Regions come and go while clients work."""

import pytest

from regions import ASIA, NORTH, WEST, Account, Trace, refresh_often, wait_until


@pytest.fixture
def account():
    started = Account(WEST, NORTH).prepare()
    yield started
    started.stop()


def reads_in(container, pk, trace):
    """The region that answers a read now."""
    trace.take()
    container.read_item("1", pk, **trace.options())
    return next(region for region, status, _ in reversed(trace.take()) if status == 200)


def test_a_region_that_is_added_has_everything_and_is_used(account, pk):
    trace = Trace(account)
    with account.client(ASIA, WEST) as client:
        refresh_often(client)
        container = client.get_database_client("db").get_container_client("c")
        for n in range(20):
            container.create_item({"id": str(n), "pk": pk})
        assert reads_in(container, pk, trace) == WEST
        account.add(ASIA)
        container.create_item({"id": "20", "pk": pk})
        found = client.get_database_account().ReadableLocations
        assert [row["name"] for row in found] == [WEST, NORTH, ASIA]
        wait_until(lambda: reads_in(container, pk, trace) == ASIA)
        rows = container.query_items("SELECT c.id FROM c", partition_key=pk, **trace.options())
        assert len(list(rows)) == 21
        account.failover(ASIA)
        container.create_item({"id": "21", "pk": pk})
        assert account.report()["writeRegion"] == ASIA


def test_a_region_that_is_removed_is_left_by_its_clients(account, pk):
    trace = Trace(account)
    with account.client(NORTH, WEST) as client:
        container = client.get_database_client("db").get_container_client("c")
        container.create_item({"id": "1", "pk": pk})
        account.wait_even()
        assert reads_in(container, pk, trace) == NORTH
        account.remove(NORTH)
        wait_until(lambda: account.state(NORTH)["state"] == "removed")
        container.read_item("1", pk, **trace.options())
        *refused, answered = trace.take()
        assert set(refused) == {(NORTH, 403, 1008)}
        assert answered == (WEST, 200, 0)
        container.create_item({"id": "2", "pk": pk})
        assert reads_in(container, pk, trace) == WEST
        found = client.get_database_account()
        assert [row["name"] for row in found.ReadableLocations] == [WEST]


def test_a_region_can_come_back_after_it_was_removed(account, pk):
    account.remove(NORTH)
    with account.container() as container:
        container.create_item({"id": "1", "pk": pk})
    account.add(NORTH)
    trace = Trace(account)
    with account.client(NORTH, WEST) as client:
        refresh_often(client)
        container = client.get_database_client("db").get_container_client("c")
        # The region itself hears a moment later that it is a member again.
        wait_until(lambda: reads_in(container, pk, trace) == NORTH)
