"""Sessions over regions: what a client wrote it reads, wherever it asks; others may read what was."""

import itertools

import pytest

from regions import ASIA, NORTH, WEST, Account, Trace, wait_until

BEHIND = (NORTH, 404, 1002)
ALL = "SELECT VALUE c.n FROM c"


@pytest.fixture(scope="module")
def account():
    # Nothing is to change the write region: a machine that stands still for seconds looks like a lost one.
    started = Account(WEST, NORTH, ASIA, service_managed_failover="off").prepare()
    yield started
    started.stop()


@pytest.fixture
def written(account, pk):
    """An item that is 1 in North Europe, and 2 only where the write was."""
    with account.container() as container:
        container.create_item({"id": "1", "pk": pk, "n": 1})
        account.wait_even()
        with account.paused(WEST, NORTH):
            item = container.replace_item("1", {"id": "1", "pk": pk, "n": 2})
            yield item
    account.wait_even()


def token(item):
    return item.get_response_headers()["x-ms-session-token"]


def test_a_client_reads_its_writes_in_a_region_that_is_behind(account, pk):
    trace = Trace(account)
    hook = trace.options()
    with account.container(NORTH, WEST) as container:
        container.create_item({"id": "1", "pk": pk, "n": 1}, **hook)
        account.wait_even()
        container.read_item("1", pk, **hook)
        assert trace.take() == [(WEST, 201, 0), (NORTH, 200, 0)]
        with account.paused(WEST, NORTH):
            container.replace_item("1", {"id": "1", "pk": pk, "n": 2}, **hook)
            trace.take()
            assert container.read_item("1", pk, **hook)["n"] == 2
            assert trace.take() == [BEHIND, (WEST, 200, 0)]
            assert list(container.query_items(ALL, partition_key=pk, **hook)) == [2]
            assert trace.take() == [BEHIND, (WEST, 200, 0)]
            container.create_item({"id": "2", "pk": pk})
            found = container.read_items([("1", pk), ("2", pk)], **hook)
            assert sorted(item["id"] for item in found) == ["1", "2"]
            assert BEHIND in trace.take()
        account.wait_even()
        assert container.read_item("1", pk, **hook)["n"] == 2
        assert trace.take() == [(NORTH, 200, 0)]


def test_what_is_under_way_is_waited_for(account, pk):
    """For a moment only, so a region that is busy may send the client on now and then."""
    trace = Trace(account)
    numbers = itertools.count()
    with account.container(NORTH, WEST) as container, account.delayed(20):

        def is_waited_for():
            n = next(numbers)
            container.upsert_item({"id": "1", "pk": pk, "n": n})
            assert container.read_item("1", pk, **trace.options())["n"] == n
            attempts = trace.take()
            assert attempts in ([(NORTH, 200, 0)], [BEHIND, (WEST, 200, 0)])
            return attempts == [(NORTH, 200, 0)]

        for _ in range(5):
            wait_until(is_waited_for)


def test_a_token_takes_a_session_to_another_client(account, written, pk):
    trace = Trace(account)
    hook = trace.options()
    with account.container(NORTH, WEST) as other:
        assert other.read_item("1", pk, **hook)["n"] == 1
        assert trace.take() == [(NORTH, 200, 0)]
        found = other.read_item("1", pk, session_token=token(written), **hook)
        assert found["n"] == 2
        assert trace.take() == [BEHIND, (WEST, 200, 0)]
        rows = other.query_items(ALL, partition_key=pk, session_token=token(written), **hook)
        assert list(rows) == [2]


@pytest.mark.parametrize("level", ["Eventual", "ConsistentPrefix"])
def test_weaker_levels_read_what_the_region_has(account, written, pk, level):
    trace = Trace(account)
    hook = trace.options()
    with account.container(NORTH, WEST, consistency_level=level) as weaker:
        assert weaker.read_item("1", pk, **hook)["n"] == 1
        assert list(weaker.query_items(ALL, partition_key=pk, **hook)) == [1]
        assert weaker.read_item("1", pk, session_token=token(written), **hook)["n"] == 1
        assert set(trace.take()) == {(NORTH, 200, 0)}
        assert weaker.read_item("1", pk, excluded_locations=[NORTH], **hook)["n"] == 2
        assert trace.take() == [(WEST, 200, 0)]


def test_reads_of_a_session_do_not_go_back(account, written, pk):
    """What was read in one region is the least that is read in the next one."""
    trace = Trace(account)
    hook = trace.options()
    with account.container(ASIA, WEST) as container:
        account.wait_even(WEST, ASIA)
        assert container.read_item("1", pk, **hook)["n"] == 2
        assert trace.take() == [(ASIA, 200, 0)]
    with account.container(ASIA, NORTH, WEST) as container:
        assert container.read_item("1", pk, **hook)["n"] == 2
        again = container.read_item("1", pk, excluded_locations=[ASIA], **hook)
        assert again["n"] == 2
        assert trace.take() == [(ASIA, 200, 0), BEHIND, (WEST, 200, 0)]


def test_a_paused_link_lets_as_many_writes_through_as_are_asked_for(account, pk):
    # What others wrote a moment ago would be counted too.
    account.wait_even()
    with account.container() as container, account.paused(WEST, NORTH):
        for n in range(4):
            container.upsert_item({"id": "1", "pk": pk, "n": n})
        with account.container(NORTH, consistency_level="Eventual") as behind:
            for step, expected in [(1, 0), (2, 2), (1, 3)]:
                applied = account.state(NORTH)["applied"]
                account.link(WEST, NORTH, "step", records=step)
                wait_until(lambda: account.state(NORTH)["applied"] == applied + step)
                assert behind.read_item("1", pk)["n"] == expected
    account.wait_even()
