"""Another region takes the writes while clients go on: nothing that was acknowledged is missing."""

import threading
import time

import pytest
from azure.cosmos import PartitionKey

from regions import NORTH, WEST, Account, Trace, wait_until

# The SDK waits a second before each new attempt, and needs two of them to hear of another region. The rest is for
# a machine that is busy.
PAUSE_SECONDS_MAX = 20


@pytest.fixture
def account():
    started = Account(WEST, NORTH).prepare()
    yield started
    started.stop()


def ids(rows):
    return [row["id"] for row in rows]


class Traffic(threading.Thread):
    """Writes items one after the other and reads each again, until it is told to stop."""

    def __init__(self, container, name):
        super().__init__()
        self.container, self.prefix = container, name
        self.written, self.ended = [], []
        self.error = None
        self.stopping = threading.Event()

    def run(self):
        try:
            while not self.stopping.is_set():
                item = {"id": f"{self.prefix}-{len(self.written)}", "pk": self.prefix}
                self.container.create_item(item)
                self.written.append(item["id"])
                self.ended.append(time.monotonic())
                assert self.container.read_item(item["id"], self.prefix)["id"] == item["id"]
        except Exception as error:
            self.error = error

    def goes_on(self):
        """Waits for some more writes."""
        enough = len(self.written) + 20
        wait_until(lambda: len(self.written) >= enough or self.error)

    def longest_pause(self):
        return max(after - before for before, after in zip(self.ended, self.ended[1:]))


def test_nothing_is_lost_when_the_write_region_changes_and_changes_back(account):
    with account.container(WEST, NORTH) as one, account.container(NORTH, WEST) as two:
        traffic = [Traffic(one, "one"), Traffic(two, "two")]
        for client in traffic:
            client.start()
        for region in (NORTH, WEST):
            for client in traffic:
                client.goes_on()
            account.failover(region)
            assert account.report()["writeRegion"] == region
        for client in traffic:
            client.goes_on()
            client.stopping.set()
        for client in traffic:
            client.join()
            assert client.error is None
            print(f"{client.prefix}: {len(client.written)} writes, pause {client.longest_pause()}")
            assert client.longest_pause() < PAUSE_SECONDS_MAX
    account.wait_even()
    for region in (WEST, NORTH):
        with account.container(region, consistency_level="Eventual") as container:
            for client in traffic:
                rows = container.query_items("SELECT VALUE c.id FROM c", partition_key=client.prefix)
                assert sorted(rows) == sorted(client.written)
        assert account.state(region)["falseProgress"] == 0


def test_a_client_that_was_not_there_hears_of_the_write_region_by_itself(account, pk):
    trace = Trace(account)
    with account.container(WEST, NORTH) as container:
        account.failover(NORTH)
        container.create_item({"id": "1", "pk": pk}, **trace.options())
        *refused, taken = trace.take()
        assert set(refused) == {(WEST, 403, 3)}
        assert taken == (NORTH, 201, 0)
        container.upsert_item({"id": "1", "pk": pk, "n": 1}, **trace.options())
        assert trace.take() == [(NORTH, 200, 0)]
    with account.client(at=WEST) as late:
        found = late.get_database_account()
    assert [row["name"] for row in found.WritableLocations] == [NORTH]
    assert {row["name"] for row in found.ReadableLocations} == {WEST, NORTH}


def test_catalogue_changes_go_to_the_new_write_region(account):
    with account.client(WEST, NORTH) as client:
        database = client.get_database_client("db")
        account.failover(NORTH)
        made = database.create_container_if_not_exists("late", PartitionKey("/pk"))
        made.create_item({"id": "1", "pk": "a"})
        # Reads go to the other region, which hears of the container a moment later.
        account.wait_even()
        assert made.read_item("1", "a")["id"] == "1"
        with account.client(WEST) as other:
            names = {row["id"] for row in other.get_database_client("db").list_containers()}
        assert names == {"c", "late"}


def test_queries_go_on_in_the_other_region(account, pk):
    def pages(container, query, **options):
        return container.query_items(query, partition_key=pk, max_item_count=10, **options)

    queries = ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n DESC"]
    with account.container(WEST, NORTH) as container:
        for n in range(25):
            container.create_item({"id": f"{n:02}", "pk": pk, "n": n % 5})
        begun = []
        for query in queries:
            reading = pages(container, query).by_page()
            begun.append((query, ids(next(reading)), reading.continuation_token))
        whole = {query: ids(pages(container, query)) for query in queries}
    account.failover(NORTH)
    trace = Trace(account)
    with account.container(NORTH) as container:
        container.create_item({"id": "other", "pk": "other"})
        for query, found, continuation in begun:
            rest = pages(container, query, **trace.options()).by_page(continuation)
            assert found + [name for page in rest for name in ids(page)] == whole[query]
    assert set(trace.take()) == {(NORTH, 200, 0)}


def test_the_change_feed_goes_on_in_the_other_region(account, pk):
    def changes(container, **options):
        pages = container.query_items_change_feed(
            partition_key=pk, max_item_count=4, **options
        ).by_page()
        return [name for page in pages for name in ids(page)], pages.continuation_token

    with account.container(WEST) as container:
        for n in range(10):
            container.create_item({"id": str(n), "pk": pk})
        seen, continuation = changes(container, start_time="Beginning")
        assert seen == [str(n) for n in range(10)]
    account.failover(NORTH)
    with account.container(NORTH) as container:
        container.replace_item("3", {"id": "3", "pk": pk, "n": 1})
        container.create_item({"id": "10", "pk": pk})
        seen, continuation = changes(container, continuation=continuation)
        assert seen == ["3", "10"]
    account.failover(WEST)
    with account.container() as container:
        container.delete_item("0", pk)
        container.create_item({"id": "11", "pk": pk})
    account.wait_even()
    for region in (WEST, NORTH):
        with account.container(region) as container:
            assert changes(container, continuation=continuation)[0] == ["11"]
