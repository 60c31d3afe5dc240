"""Strong consistency: a write that has returned is seen in every region."""

import threading
import time
from contextlib import ExitStack

import pytest
from azure.core.exceptions import ServiceResponseError
from azure.cosmos.exceptions import CosmosHttpResponseError

from expect import failure
from regions import ASIA, NORTH, WEST, Account, Trace, wait_until

DELAY_MS = 100
ROUND_TRIP_SECONDS = 2 * DELAY_MS / 1000
SLACK_SECONDS = 2


@pytest.fixture
def start():
    started = []

    def account(*names):
        # A machine that stands still for seconds looks like a lost region; only operators are to say that one is.
        options = {"consistency": "Strong", "service_managed_failover": "off"}
        started.append(Account(*names, **options))
        return started[-1].prepare()

    yield account
    for running in started:
        running.stop()


def seconds(call):
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


def wait_quick(call, seconds_max, seconds_min=0):
    """Until it takes no longer than this: the machine may be busy at times. It never takes less than the least."""

    def is_quick():
        taken = seconds(call)
        assert taken >= seconds_min
        return taken < seconds_max

    wait_until(is_quick)


def test_every_region_has_what_was_written(start, pk):
    account = start(WEST, NORTH, ASIA)
    with ExitStack() as stack:
        writer, *readers = [
            stack.enter_context(account.container(region)) for region in (WEST, NORTH, ASIA)
        ]
        for n in range(30):
            writer.upsert_item({"id": "1", "pk": pk, "n": n})
            for reader in readers:
                assert reader.read_item("1", pk)["n"] == n
                found = reader.query_items("SELECT VALUE c.n FROM c", partition_key=pk)
                assert list(found) == [n]


def test_writes_and_reads_far_away_take_a_round_trip(start, pk):
    account = start(WEST, NORTH)
    with account.container() as writer, account.container(NORTH) as north:
        writer.create_item({"id": "1", "pk": pk})
        north.read_item("1", pk)
        with account.delayed(DELAY_MS):
            between = (ROUND_TRIP_SECONDS + SLACK_SECONDS, ROUND_TRIP_SECONDS)
            wait_quick(lambda: writer.upsert_item({"id": "1", "pk": pk, "n": 1}), *between)
            wait_quick(lambda: north.read_item("1", pk), *between)
            with account.container(NORTH, consistency_level="Eventual") as near:
                near.read_item("1", pk)
                wait_quick(lambda: near.read_item("1", pk), ROUND_TRIP_SECONDS)


def test_two_regions_cannot_do_without_one_until_it_is_taken_offline(start, pk):
    """Until then a write is not answered, and nobody sees what could be taken back."""
    account = start(WEST, NORTH)
    with account.container(WEST) as container, account.container(WEST) as other:
        container.create_item({"id": "1", "pk": pk, "n": 1})
        account.take_down(NORTH)
        refusals = []

        def write():
            with failure(408) as caught:
                container.upsert_item({"id": "1", "pk": pk, "n": 2})
            refusals.append(caught.value)

        waiting = threading.Thread(target=write)
        waiting.start()
        wait_until(lambda: account.state(WEST)["kept"] > account.state(WEST)["committed"])
        with account.container(consistency_level="Eventual") as weaker:
            assert weaker.read_item("1", pk)["n"] == 1
        wait_until(lambda: is_refused(other, pk))
        # If this took long it was refused meanwhile, but not confirmed.
        assert waiting.is_alive() or refusals

        account.failover(WEST, forced=True, offline=[NORTH])
        waiting.join()
        # The write was not confirmed in time, which does not mean that it was not done.
        assert len(refusals) == 1
        assert other.read_item("1", pk)["n"] == 2
        other.create_item({"id": "3", "pk": pk})
        with account.client() as client:
            found = client.get_database_account().ReadableLocations
        assert [row["name"] for row in found] == [WEST]


def is_refused(container, pk):
    """Whether writes that would wait in vain are refused at once; only that, and with the reason."""
    try:
        container.create_item({"id": "waits", "pk": pk}, read_timeout=0.5)
    except ServiceResponseError:
        return False
    except CosmosHttpResponseError as error:
        assert error.status_code == 503
        assert "take it offline" in str(error)
        return True
    raise AssertionError("a write was answered that only one region has")


def test_three_regions_do_without_one(start, pk):
    account = start(WEST, NORTH, ASIA)
    trace = Trace(account)
    with account.container(ASIA, WEST) as container:
        container.create_item({"id": "1", "pk": pk})
        account.take_down(ASIA)
        for n in range(3):
            container.upsert_item({"id": "1", "pk": pk, "n": n})
        assert container.read_item("1", pk, **trace.options())["n"] == 2
        assert trace.take()[-2:] == [(ASIA, 503, 0), (WEST, 200, 0)]
        account.bring_up(ASIA)
        container.upsert_item({"id": "1", "pk": pk, "n": 3})

        def answers_again():
            assert container.read_item("1", pk, **trace.options())["n"] == 3
            return trace.take()[-1] == (ASIA, 200, 0)

        wait_until(answers_again)


def test_nothing_is_lost_with_the_write_region(start, pk):
    account = start(WEST, NORTH, ASIA)
    with account.container(at=NORTH) as container:
        for n in range(20):
            container.create_item({"id": str(n), "pk": pk})
        account.take_down(WEST)
        account.failover(ASIA, forced=True)
    with account.container(NORTH, at=NORTH) as container:
        container.create_item({"id": "20", "pk": pk})
        rows = container.query_items("SELECT VALUE COUNT(1) FROM c", partition_key=pk)
        assert list(rows) == [21]


def test_weaker_reads_see_a_write_as_soon_as_it_is_committed(start, pk):
    account = start(WEST, NORTH, ASIA)
    trace = Trace(account)
    hook = trace.options()
    writes, elsewhere = 100, 0
    with account.container(NORTH, WEST, consistency_level="Session") as container:
        for n in range(writes):
            container.upsert_item({"id": "1", "pk": pk, "n": n})
            assert container.read_item("1", pk, **hook)["n"] == n
            elsewhere += trace.take() != [(NORTH, 200, 0)]
    # A machine that stands still for a moment makes a client go on in the write region.
    assert elsewhere <= writes // 10
