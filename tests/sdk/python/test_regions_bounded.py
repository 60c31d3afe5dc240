"""Bounded staleness: no region falls further behind than K versions; writes wait for it instead."""

import threading

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from regions import NORTH, WEST, Account, Trace, wait_until

VERSIONS = 20
# Ten times a second, as it is told, for as long as this SDK waits at all; its nine times are over in a second.
PATIENCE = {"retry_throttle_total": 300}


@pytest.fixture
def account():
    started = Account(
        WEST, NORTH, consistency="BoundedStaleness", bounded_versions=VERSIONS, bounded_seconds=300
    ).prepare()
    yield started
    started.stop()


def wait_known(account):
    """Until the write region knows how far the other one is, which it hears a moment later."""

    def is_known():
        behind = account.link_of(WEST, NORTH)["behind"]["records"]
        return behind == account.state(WEST)["kept"] - account.state(NORTH)["applied"]

    wait_until(is_known)


def write_until_throttled(container, pk):
    """How many writes were taken before one was not."""
    for n in range(10 * VERSIONS):
        try:
            container.create_item({"id": str(n), "pk": pk})
        except CosmosHttpResponseError as error:
            assert error.status_code == 429, error
            assert int(error.headers["x-ms-retry-after-ms"]) > 0
            return n
    raise AssertionError("the bound was not kept")


def test_account_tells_the_bound(account):
    with account.client() as client:
        policy = client.get_database_account().ConsistencyPolicy
    assert policy["defaultConsistencyLevel"] == "BoundedStaleness"
    assert policy["maxStalenessPrefix"] == VERSIONS
    assert policy["maxIntervalInSeconds"] == 300


def test_writes_are_throttled_while_a_region_is_too_far_behind(account, pk):
    wait_known(account)
    with account.paused(WEST, NORTH), account.container(retry_throttle_total=0) as impatient:
        taken = write_until_throttled(impatient, pk)
        assert 0 < taken <= VERSIONS
        with account.container(NORTH) as behind:
            rows = behind.query_items("SELECT VALUE COUNT(1) FROM c", partition_key=pk)
            assert list(rows) == [0]
        applied = account.state(NORTH)["applied"]
        account.link(WEST, NORTH, "step", records=5)
        wait_until(lambda: account.state(NORTH)["applied"] == applied + 5)
        wait_known(account)
        assert write_until_throttled(impatient, f"{pk}-more") == 5
    account.wait_even()
    with account.container(**PATIENCE) as container:
        for n in range(2 * VERSIONS):
            container.upsert_item({"id": str(n), "pk": pk})


def test_the_sdk_waits_for_the_region_and_goes_on(account, pk):
    """Its own retries are enough when the region comes back."""
    trace = Trace(account)
    with (
        account.container(retry_throttle_total=0) as impatient,
        account.container(**PATIENCE) as patient,
    ):
        late = {"id": "late", "pk": pk}
        writing = threading.Thread(target=lambda: patient.create_item(late, **trace.options()))
        with account.paused(WEST, NORTH):
            write_until_throttled(impatient, pk)
            writing.start()
            wait_until(lambda: trace.attempts)
        writing.join()
    attempts = trace.take()
    assert attempts[0][:2] == (WEST, 429)
    assert attempts[-1] == (WEST, 201, 0)
