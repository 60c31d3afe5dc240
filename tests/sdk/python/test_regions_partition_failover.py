"""Single partitions fail over: their items are written in another region, all others where they were."""

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from regions import ASIA, NORTH, WEST, Account, Trace, wait_until


@pytest.fixture(scope="module")
def account():
    # Two partitions.
    started = Account(WEST, NORTH, ASIA, per_partition_failover=True).prepare(offer_throughput=18000)
    yield started
    started.stop()


class ItemTrace(Trace):
    """Without what the SDK asks of the container."""

    def _keep(self, response):
        if "/docs" in response.http_request.url:
            super()._keep(response)


class Writer:
    """Writes items of one partition key and says where each attempt went."""

    def __init__(self, account, container, pk):
        self.account, self.container, self.pk = account, container, pk
        self.trace, self.count = ItemTrace(account), 0

    def write(self):
        self.count += 1
        item = {"id": str(self.count), "pk": self.pk, "n": self.count}
        self.container.create_item(item, **self.trace.options())
        return self.trace.take()

    def eventually_write(self):
        """All attempts until a write is taken; the SDK gives up after a round through the regions."""
        attempts = []

        def is_written():
            try:
                attempts.extend(self.write())
                return True
            except CosmosHttpResponseError as error:
                assert error.status_code == 503, error
                attempts.extend(self.trace.take())
                return False

        wait_until(is_written)
        return attempts

    def read(self):
        """In such an account the SDK asks a second region too if the first has not answered for half a second; its
        answer may come whenever it likes, so this has a trace of its own."""
        trace = ItemTrace(self.account)
        found = self.container.read_item(str(self.count), self.pk, **trace.options())
        assert found["n"] == self.count
        return trace.take()

    def partition(self):
        """As the answer to the last write names it."""
        headers = self.container.client_connection.last_response_headers
        return f"dbs/db/colls/c/ranges/{headers['x-ms-session-token'].split(':')[0]}"


def two_partitions(account, container, name):
    """Writers of two partitions."""
    first = Writer(account, container, name)
    assert first.write() == [(WEST, 201, 0)]
    partition = first.partition()
    for number in range(50):
        other = Writer(account, container, f"{name}-{number}")
        assert other.write() == [(WEST, 201, 0)]
        if other.partition() != partition:
            return first, other, partition
    raise AssertionError("all keys are in one partition")


def test_the_account_says_so_and_has_one_write_region(account):
    with account.client() as client:
        found = client.get_database_account()
        assert found._EnablePerPartitionFailoverBehavior is True
        assert [row["name"] for row in found.WritableLocations] == [WEST]
        assert not found._EnableMultipleWritableLocations
    assert account.report()["perPartitionFailover"] is True


def test_a_partition_is_moved_and_moved_back(account):
    with account.container(WEST, NORTH, ASIA) as container:
        moving, staying, partition = two_partitions(account, container, "planned")
        report = account.failover(NORTH, partition=partition)
        assert report["partitions"] == [
            {"partition": partition, "owner": NORTH, "automatic": False, "down": []}
        ]
        assert moving.write() == [(WEST, 403, 3), (NORTH, 201, 0)]
        for _ in range(3):
            assert moving.write() == [(NORTH, 201, 0)]
            moving.read()
            assert staying.write() == [(WEST, 201, 0)]
        assert account.failover(WEST, partition=partition)["partitions"] == []
        *refused, taken = moving.write()
        assert refused and set(refused) <= {(NORTH, 403, 3), (ASIA, 403, 3)}
        assert taken == (WEST, 201, 0)
        assert moving.write() == [(WEST, 201, 0)]
        assert staying.write() == [(WEST, 201, 0)]
        ids = container.query_items("SELECT VALUE c.id FROM c", partition_key=moving.pk)
        assert sorted(map(int, ids)) == list(range(1, moving.count + 1))


def test_a_partition_that_fails_is_written_elsewhere_until_it_is_back(account):
    with account.container(WEST, NORTH, ASIA) as container:
        failing, staying, partition = two_partitions(account, container, "down")
        account.take_down(WEST, partition)
        first, *others = failing.eventually_write()
        assert first == (WEST, 503, 0)
        # The next region lets the write wait until it takes it, and refuses it only if it has not heard of that yet.
        assert others[-1] == (NORTH, 201, 0)
        assert others == others[-1:] or (NORTH, 403, 3) in others
        assert failing.write() == [(NORTH, 201, 0)]
        failing.read()
        assert staying.write() == [(WEST, 201, 0)]
        wait_until(lambda: staying.read() == [(WEST, 200, 0)])
        assert account.report()["partitions"] == [
            {"partition": partition, "owner": NORTH, "automatic": True, "down": [WEST]}
        ]
        account.bring_up(WEST, partition)
        wait_until(lambda: account.report()["partitions"] == [])
        assert failing.write()[-1] == (WEST, 201, 0)
        assert failing.write() == [(WEST, 201, 0)]
        failing.read()
