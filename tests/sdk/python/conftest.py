"""One server in memory for the whole run; every test gets its own names in it."""

import asyncio
import functools
import itertools
import uuid

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient
from azure.cosmos.documents import ConnectionPolicy

import mixed
import orrery_server

ASYNCHRONOUS_SECONDS_MAX = 240
# A region that does not describe the account within three seconds is one that clients avoid from then on. On a machine
# that is busy with other things that says nothing of the region, and tests look where requests go.
ConnectionPolicy._ConnectionPolicy__defaultDBAReadTimeout = 60
ConnectionPolicy._ConnectionPolicy__defaultDBAConnectionTimeout = 60

_counter = itertools.count()


def unique(prefix):
    """A name no other test of this run uses."""
    return f"{prefix}-{next(_counter)}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def server():
    try:
        # Runs of scripts end by themselves here, so their time is no matter of the machine.
        running = orrery_server.start(options={"script_time": 60_000})
    except Exception as error:
        pytest.exit(f"no server to test: {error}", returncode=1)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def client(server):
    with CosmosClient(server.endpoint, server.key) as connected:
        # After five minutes it would look at the account in the background, and the headers of that answer would be
        # the last ones in the middle of some test.
        connected.client_connection._global_endpoint_manager.refresh_time_interval_in_ms = 24 * 3600 * 1000
        yield connected


@pytest.fixture(scope="session")
def database(client):
    return client.create_database(unique("db"))


@pytest.fixture(scope="session")
def container(database):
    """A shared container with the key path `/pk`; tests keep apart by their key value."""
    return database.create_container("items", PartitionKey("/pk"), offer_throughput=10000)


@pytest.fixture(scope="session")
def wide_container(database):
    """Three physical partitions, a hundred items over fifty keys."""
    wide = database.create_container("wide", PartitionKey("/pk"), offer_throughput=18000)
    for n in range(100):
        wide.create_item({"id": f"i{n}", "pk": f"k{n % 50}", "n": n, "even": n % 2 == 0})
    return wide


@pytest.fixture(scope="session")
def mixed_container(database):
    """Three physical partitions with the documents of `mixed.py`."""
    made = database.create_container("mixed", PartitionKey("/pk"), offer_throughput=18000)
    mixed.fill(made)
    return made


@pytest.fixture
def user(database):
    made = database.create_user({"id": unique("user")})
    yield made
    try:
        database.delete_user(made.id)
    except Exception:
        pass


@pytest.fixture
def pk():
    """A partition key value of this test's own."""
    return unique("pk")


@pytest.fixture
def new_container(database):
    """Creates containers that disappear with the test."""
    made = []

    def create(path="/pk", *, version=2, **options):
        key = path if isinstance(path, PartitionKey) else PartitionKey(path, version=version)
        made.append(unique("c"))
        return database.create_container(made[-1], key, **options)

    yield create
    for name in made:
        try:
            database.delete_container(name)
        except Exception:
            pass


@pytest.fixture
def new_database(client):
    made = []

    def create(**options):
        made.append(unique("db"))
        return client.create_database(made[-1], **options)

    yield create
    for name in made:
        try:
            client.delete_database(name)
        except Exception:
            pass


@pytest.fixture
def connect_async(server):
    """Opens the asynchronous client; use as `async with connect_async() as client`."""
    return functools.partial(AsyncCosmosClient, server.endpoint, server.key)


def asynchronous(test):
    """Runs a coroutine test in an event loop of its own."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), timeout=ASYNCHRONOUS_SECONDS_MAX))

    return run
