"""Enforced throughput: clients wait as they are told, and in the end everything is there."""

import time
from concurrent.futures import ThreadPoolExecutor

import orrery_server
import pytest
from azure.cosmos import CosmosClient, PartitionKey, exceptions

from expect import Hook

RATE = 400
TEXT = "x" * 1000


@pytest.fixture(scope="module")
def enforcing():
    server = orrery_server.start(throughput="on")
    yield server
    server.stop()


@pytest.fixture()
def limited(enforcing):
    """A new container with the least throughput there is."""
    with CosmosClient(enforcing.endpoint, enforcing.key) as client:
        database = client.create_database_if_not_exists("db")
        made = database.create_container(f"c{time.monotonic_ns()}", PartitionKey("/pk"), offer_throughput=RATE)
        yield made


def test_a_flood_of_writes_is_slowed_down_and_nothing_is_lost(limited):
    charges = []

    def write(n):
        hook = Hook()
        limited.create_item({"id": str(n), "pk": f"k{n % 7}", "text": TEXT}, response_hook=hook)
        charges.append(float(hook.headers["x-ms-request-charge"]))

    begun = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(250)))
    took = time.monotonic() - begun
    # The first second's budget is there at once, and that second may be about to end.
    assert took > sum(charges) / RATE - 2.1
    # Writers that wait must not leave budget unused; a machine with much to do needs longer.
    assert took < 3 * sum(charges) / RATE + 5
    found = {item["id"] for item in limited.query_items("SELECT c.id FROM c", enable_cross_partition_query=True)}
    assert found == {str(n) for n in range(250)}


def test_a_load_over_three_physical_partitions_runs_at_their_rate(enforcing):
    """This SDK has no bulk calls, so threads create the items. Each partition has a third of the rate."""
    rate = 3 * RATE
    with CosmosClient(enforcing.endpoint, enforcing.key) as client:
        database = client.create_database_if_not_exists("db")
        made = database.create_container(f"c{time.monotonic_ns()}", PartitionKey("/pk"), offer_throughput=18000)
        made.replace_throughput(rate)
        assert len(list(made.read_feed_ranges())) == 3
        charges = []

        def write(n):
            hook = Hook()
            made.create_item({"id": str(n), "pk": f"k{n % 300}", "text": TEXT}, response_hook=hook)
            charges.append(float(hook.headers["x-ms-request-charge"]))

        begun = time.monotonic()
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(write, range(1200)))
        took = time.monotonic() - begun
    message = f"{took:.1f} s for {sum(charges):.0f} RU at {rate} RU/s"
    print(message)
    assert took > sum(charges) / rate - 2.5, message
    # A machine with much to do needs longer.
    assert took < 3 * sum(charges) / rate + 5, message


def test_a_client_that_does_not_wait_is_told_how_long(enforcing, limited):
    # This SDK cannot be told to try only once; it can be told not to wait in between.
    impatience = {"retry_throttle_total": 1, "retry_fixed_interval": 1}
    with CosmosClient(enforcing.endpoint, enforcing.key, **impatience) as impatient:
        same = impatient.get_database_client("db").get_container_client(limited.id)
        with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
            # Each is a quarter of what a second has.
            for n in range(100):
                same.create_item({"id": str(n), "pk": "a", "text": TEXT * 300})
        assert (caught.value.status_code, caught.value.sub_status) == (429, 3200)
        wait_ms = int(caught.value.headers["x-ms-retry-after-ms"])
        assert 1 <= wait_ms <= 2000
        time.sleep(wait_ms / 1000)
        assert same.read_item("0", "a")["id"] == "0"
