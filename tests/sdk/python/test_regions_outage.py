"""A region is lost without warning and comes back later."""

import json
from pathlib import Path

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from expect import failure
from regions import ASIA, NORTH, WEST, Account, Trace, refresh_often, wait_until


@pytest.fixture
def start():
    started = []

    def account(*names, **options):
        started.append(Account(*names, **options))
        return started[-1].prepare()

    yield account
    for running in started:
        running.stop()


def container_of(client):
    return client.get_database_client("db").get_container_client("c")


def ids(container, pk):
    return sorted(container.query_items("SELECT VALUE c.id FROM c", partition_key=pk))


def eventually_writes(container, item):
    """Tries until a write is taken; gives how often it was refused."""
    refused = []

    def is_written():
        try:
            container.upsert_item(item)
            return True
        except Exception as error:
            assert error.status_code == 503, error
            refused.append(error)
            return False

    wait_until(is_written)
    return len(refused)


def wait_answers(account, region, container, name, pk):
    """Until the region that was away answers reads itself."""
    trace = Trace(account)

    def answers():
        trace.take()
        try:
            container.read_item(name, pk, **trace.options())
        except CosmosHttpResponseError as error:
            assert error.status_code == 503, error
        return trace.take() == [(region, 200, 0)]

    wait_until(answers)


def test_reads_go_on_in_the_next_region(start, pk):
    account = start(WEST, NORTH)
    trace = Trace(account)
    with account.container(WEST, NORTH, at=NORTH) as container:
        container.create_item({"id": "1", "pk": pk})
        account.wait_even()
        account.take_down(WEST)
        assert account.state(WEST)["state"] == "down"
        assert container.read_item("1", pk, **trace.options())["id"] == "1"
        assert trace.take() == [(WEST, 503, 0), (NORTH, 200, 0)]
        rows = container.query_items("SELECT * FROM c", partition_key=pk, **trace.options())
        assert len(list(rows)) == 1
        assert trace.take()[-1] == (NORTH, 200, 0)
        with failure(503, message="taken down"):
            container.create_item({"id": "2", "pk": pk})
        account.bring_up(WEST)
        # It refuses writes until it has heard that no other region took its place.
        container.create_item({"id": "2", "pk": pk}, **trace.options())
        assert (WEST, 201, 0) in trace.take()
        container.read_item("2", pk, **trace.options())
        assert trace.take() == [(WEST, 200, 0)]


def test_three_regions_choose_another_write_region_by_themselves(start, pk):
    account = start(WEST, NORTH, ASIA)
    trace = Trace(account)
    with account.client(NORTH, ASIA, at=NORTH) as client:
        refresh_often(client)
        container = container_of(client)
        acknowledged = [container.create_item({"id": str(n), "pk": pk}) for n in range(10)]
        account.wait_even()
        account.take_down(WEST)
        eventually_writes(container, {"id": "after", "pk": pk})
        chosen = account.report()["writeRegion"]
        assert chosen in (NORTH, ASIA)
        for item in acknowledged:
            assert container.read_item(item["id"], pk)["_etag"] == item["_etag"]

        account.bring_up(WEST)
        account.wait_even(WEST, NORTH, ASIA)
        assert account.state(WEST)["state"] == "read"
        assert account.state(WEST)["falseProgress"] == 0
        assert account.report()["writeRegion"] == chosen
        with account.container(WEST) as returned:
            wait_answers(account, WEST, returned, "after", pk)
            returned.create_item({"id": "last", "pk": pk}, **trace.options())
            assert trace.take() == [(chosen, 201, 0)]


def test_two_regions_wait_for_their_operator(start, pk):
    account = start(WEST, NORTH)
    with account.client(NORTH, at=NORTH) as client:
        refresh_often(client)
        container = container_of(client)
        container.create_item({"id": "1", "pk": pk})
        account.wait_even()
        account.take_down(WEST)
        with failure(503):
            container.create_item({"id": "2", "pk": pk})
        assert account.report()["writeRegion"] == WEST
        account.failover(NORTH, forced=True)
        eventually_writes(container, {"id": "2", "pk": pk})
        account.bring_up(WEST)
        account.wait_even(WEST, NORTH)
        assert account.state(WEST)["state"] == "read"
        with account.container(WEST) as returned:
            wait_answers(account, WEST, returned, "2", pk)


def test_a_region_that_was_replaced_sends_writers_away_while_it_is_down(start, pk):
    account = start(WEST, NORTH)
    trace = Trace(account)
    # It looks at the account again after five minutes only.
    with account.container(NORTH, at=NORTH) as container:
        container.create_item({"id": "1", "pk": pk})
        account.wait_even()
        account.take_down(WEST)
        account.failover(NORTH, forced=True)

        def is_sent_away():
            try:
                container.create_item({"id": "2", "pk": pk}, **trace.options())
            except CosmosHttpResponseError as error:
                # West US has not heard of it.
                assert error.status_code == 503
                trace.take()
                return False
            return True

        wait_until(is_sent_away)
        *refused, written = trace.take()
        assert set(refused) == {(WEST, 403, 3)} and written == (NORTH, 201, 0)
        container.create_item({"id": "3", "pk": pk}, **trace.options())
        assert trace.take() == [(NORTH, 201, 0)]


def test_what_only_the_lost_region_had_is_kept_aside(start, pk, tmp_path):
    account = start(WEST, NORTH, data=tmp_path)
    with account.client(NORTH, at=NORTH) as client:
        refresh_often(client)
        container = container_of(client)
        container.create_item({"id": "both", "pk": pk})
        account.wait_even()
        account.link(WEST, NORTH, "pause")
        container.create_item({"id": "only-west-1", "pk": pk})
        container.create_item({"id": "only-west-2", "pk": pk})
        account.take_down(WEST)
        account.failover(NORTH, forced=True)
        eventually_writes(container, {"id": "only-north", "pk": pk})
        account.link(WEST, NORTH, "resume")
        account.bring_up(WEST)
        # While it is copied reads go on elsewhere: nobody sees what was lost any more.
        with account.container(WEST, NORTH, at=NORTH) as other:
            for _ in range(10):
                assert ids(other, pk) == ["both", "only-north"]
        # Each had made two records alone, so they look even before as well.
        wait_until(lambda: account.state(WEST)["falseProgress"] == 2)
        account.wait_even(WEST, NORTH)
        with account.container(WEST) as other:
            wait_answers(account, WEST, other, "both", pk)
            assert ids(other, pk) == ["both", "only-north"]
        assert account.state(NORTH)["falseProgress"] == 0
        # Not of the whole tree: what the region had before is being removed there.
        kept = list(Path(tmp_path).glob("regions/*/false-progress.jsonl"))
        assert [path.parent.name for path in kept] == ["west-us"]
        lines = kept[0].read_text().splitlines()
        assert [json.loads(line) for line in lines] == account.false_progress(WEST)
        assert account.false_progress(NORTH) == []
        for name in ("only-west-1", "only-west-2"):
            assert any(name in line for line in lines), lines
        assert ids(container, pk) == ["both", "only-north"]


def test_a_session_goes_on_after_its_writes_were_lost(start, pk):
    """Its token is of a time that no region knows any more, which is let pass as the service does."""
    account = start(WEST, NORTH)
    trace = Trace(account)
    with account.client(NORTH, at=NORTH) as client:
        refresh_often(client)
        container = container_of(client)
        account.link(WEST, NORTH, "pause")
        container.create_item({"id": "lost", "pk": pk})
        account.take_down(WEST)
        account.failover(NORTH, forced=True)
        with failure(404, sub_status=0):
            container.read_item("lost", pk, **trace.options())
        assert trace.take()[-1] == (NORTH, 404, 0)
        eventually_writes(container, {"id": "next", "pk": pk})
        assert ids(container, pk) == ["next"]
