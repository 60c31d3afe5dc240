"""Clients that know the account by its own address, which does not go with any region."""

import pytest

from regions import NORTH, WEST, WHOLE, Account, Trace, refresh_often, wait_until


@pytest.fixture
def account():
    started = Account(WEST, NORTH).prepare()
    yield started
    started.stop()


def container_of(client):
    return client.get_database_client("db").get_container_client("c")


def eventually_writes(container, item):
    def is_written():
        try:
            container.upsert_item(item)
            return True
        except Exception as error:
            assert error.status_code == 503, error
            return False

    wait_until(is_written)


@pytest.mark.parametrize("preferred", [[], [WEST, NORTH]], ids=["none", "some"])
def test_clients_start_and_go_on_while_any_region_is_there(account, pk, preferred):
    trace = Trace(account)
    with account.client(*preferred, at=WHOLE) as old:
        refresh_often(old)
        container_of(old).create_item({"id": "1", "pk": pk}, **trace.options())
        # Nothing but the account itself is asked for there.
        assert trace.take() == [(WEST, 201, 0)]
        account.wait_even()
        account.take_down(WEST)
        with account.client(*preferred, at=WHOLE) as new:
            for client in (old, new):
                assert container_of(client).read_item("1", pk, **trace.options())["id"] == "1"
                assert trace.take()[-1] == (NORTH, 200, 0)
        account.failover(NORTH, forced=True)
        eventually_writes(container_of(old), {"id": "2", "pk": pk})
        with account.client(*preferred, at=WHOLE) as new:
            container_of(new).create_item({"id": "3", "pk": pk}, **trace.options())
            assert trace.take()[-1] == (NORTH, 201, 0)
        account.bring_up(WEST)
        account.wait_even(WEST, NORTH)
        with account.client(*preferred, at=WHOLE) as new:
            for n, client in enumerate((old, new)):
                container_of(client).create_item({"id": f"up{n}", "pk": pk}, **trace.options())
                assert trace.take()[-1] == (NORTH, 201, 0)
                assert container_of(client).read_item("1", pk)["id"] == "1"
