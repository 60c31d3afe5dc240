"""Requests may ask for less than the account promises, not for more; the strongest reads cost double."""

import pytest

from expect import Hook, charge, failure
from regions import NORTH, WEST, Account

LEVELS = ["Eventual", "ConsistentPrefix", "Session", "BoundedStaleness", "Strong"]
DOUBLE = {"BoundedStaleness", "Strong"}
ROUNDING = 0.011
ALL = "SELECT * FROM c"


@pytest.fixture(scope="module", params=LEVELS)
def account(request):
    started = Account(WEST, NORTH, consistency=request.param).prepare()
    started.level = request.param
    with started.container() as container:
        container.create_item({"id": "1", "pk": "a"})
    started.wait_even()
    yield started
    started.stop()


@pytest.mark.parametrize("region", [WEST, NORTH])
def test_weaker_levels_are_served_and_stronger_ones_refused(account, region):
    for level in LEVELS:
        with account.container(region, consistency_level=level) as container:
            if LEVELS.index(level) <= LEVELS.index(account.level):
                assert container.read_item("1", "a")["id"] == "1"
                assert len(list(container.query_items(ALL, partition_key="a"))) == 1
            else:
                with failure(400, message="ConsistencyLevel"):
                    container.read_item("1", "a")


@pytest.mark.parametrize("region", [WEST, NORTH])
def test_reads_at_the_two_strongest_levels_cost_double(account, region):
    hook = Hook()

    def charges(level):
        options = {} if level is None else {"consistency_level": level}
        with account.container(region, **options) as container:
            container.read_item("1", "a", response_hook=hook)
            read = charge(hook.headers)
            list(container.query_items(ALL, partition_key="a", response_hook=hook))
            return read, charge(hook.headers)

    read, query = charges("Eventual")
    factor = 2 if account.level in DOUBLE else 1
    assert charges(None) == pytest.approx((read * factor, query * factor), abs=ROUNDING)


def test_writes_cost_the_same_at_every_level(account):
    hook = Hook()
    with account.container() as container:
        container.upsert_item({"id": "1", "pk": "a"}, response_hook=hook)
        default = charge(hook.headers)
    with account.container(consistency_level="Eventual") as container:
        container.upsert_item({"id": "1", "pk": "a"}, response_hook=hook)
    assert charge(hook.headers) == default
