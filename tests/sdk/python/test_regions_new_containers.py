"""Where every region writes, a database or container that was made can be used in all regions at once."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from azure.cosmos import PartitionKey

from regions import ASIA, NORTH, WEST, Account

REGIONS = (WEST, NORTH, ASIA)
CONTAINERS = 40


@pytest.fixture(scope="module")
def account():
    # The first region stays the one that makes containers: a machine that stands still looks like a lost region.
    options = {"multi_write": True, "service_managed_failover": "off"}
    started = Account(*REGIONS, **options)
    yield started
    started.stop()


@pytest.fixture
def clients(account):
    with ExitStack() as stack:
        opened = [account.client(region, multiple_write_locations=True) for region in REGIONS]
        yield [stack.enter_context(client) for client in opened]


def test_every_region_knows_a_new_container(account, clients):
    maker, *_ = clients
    with ThreadPoolExecutor(len(REGIONS)) as threads:
        for number in range(CONTAINERS):
            name = f"c{number}"
            database = maker.create_database(name)

            def read_database(client):
                return client.get_database_client(name).read()["id"]

            assert list(threads.map(read_database, clients)) == [name] * len(REGIONS)
            database.create_container(name, PartitionKey("/pk"))

            def use(client):
                container = client.get_database_client(name).get_container_client(name)
                assert container.read()["id"] == name
                region = str(clients.index(client))
                container.create_item({"id": region, "pk": region})
                return container.read_item(region, region)["id"]

            assert list(threads.map(use, clients)) == ["0", "1", "2"]


def test_a_session_reads_its_write_elsewhere_in_a_new_container(account, clients):
    maker, *readers = clients
    database = maker.create_database("sessions")
    for number in range(CONTAINERS):
        made = database.create_container(f"c{number}", PartitionKey("/pk"))
        item = made.create_item({"id": "1", "pk": "1"})
        token = item.get_response_headers()["x-ms-session-token"]
        for reader in readers:
            container = reader.get_database_client("sessions").get_container_client(made.id)
            assert container.read_item("1", "1", session_token=token)["id"] == "1"


def test_a_region_that_is_cut_off_holds_nobody_up_for_long(account, clients):
    maker, reader, _ = clients
    account.link("*", ASIA, "cut")
    account.link(ASIA, "*", "cut")
    try:
        database = maker.create_database("without")
        database.create_container("c", PartitionKey("/pk"))
        found = reader.get_database_client("without").get_container_client("c").read()
        assert found["id"] == "c"
    finally:
        account.link("*", ASIA, "resume")
        account.link(ASIA, "*", "resume")
