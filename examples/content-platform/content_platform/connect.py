"""The clients of an application that is deployed in one region.

Every client prefers that region: the write client, whose account writes there, and the read clients,
whose accounts have a copy there. Whatever the application does then stays in its region for as long as
the region works.
"""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

from azure.core.exceptions import AzureError
from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient
from azure.cosmos.exceptions import CosmosResourceNotFoundError

from .access import ContentAccess
from .entities import KEY_PATHS

DATABASE = "content"
REPLICATION_SECONDS_MAX = 30


@asynccontextmanager
async def connect(account, region, **options):
    """A client that prefers one region of the account.

    The address of any region will do to ask where the regions are. That of the own region comes first,
    because it works when others cannot be reached; if it does not answer, the others are asked.
    """
    preferred = [region, *(other for other in account.endpoints if other != region)]
    client = await _first_answer(account, preferred, options)
    try:
        yield client
    finally:
        await client.close()


async def _first_answer(account, preferred, options):
    failures = []
    for region in preferred:
        client = CosmosClient(
            account.endpoints[region],
            account.key,
            preferred_locations=preferred,
            multiple_write_locations=account.multi_write,
            **options,
        )
        try:
            return await client.__aenter__()
        except AzureError as error:
            await client.close()
            if getattr(error, "status_code", None) == 401:
                raise
            failures.append(error)
    raise failures[0]


@asynccontextmanager
async def open_access(deployment, region, *, page_size=100, **options):
    """The data access of the application in this region."""
    home = deployment.home_of(region)
    others = [account for account in deployment.accounts if account is not home]
    async with AsyncExitStack() as open_clients:
        databases = []
        for account in (home, *others):
            client = await open_clients.enter_async_context(connect(account, region, **options))
            databases.append(client.get_database_client(DATABASE))
        yield ContentAccess(databases[0], databases[1:], page_size=page_size)


async def create_containers(deployment):
    """Makes the database in every account; returns when every region has it."""
    for account in deployment.accounts:
        first, *others = account.endpoints
        async with connect(account, first) as client:
            database = await client.create_database_if_not_exists(DATABASE)
            for name, path in KEY_PATHS.items():
                await database.create_container_if_not_exists(name, PartitionKey(path))
        for region in others:
            async with connect(account, region) as client:
                arrival = _arrival(client.get_database_client(DATABASE))
                await asyncio.wait_for(arrival, REPLICATION_SECONDS_MAX)


async def _arrival(database):
    for name in KEY_PATHS:
        while not await _exists(database.get_container_client(name)):
            await asyncio.sleep(0.02)


async def _exists(container):
    try:
        await container.read()
    except CosmosResourceNotFoundError:
        return False
    return True
