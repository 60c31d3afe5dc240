"""Short words for the change feed, and for containers that split."""

import time

from azure.cosmos import CosmosClient

SPLIT_SECONDS_MAX = 60


def pages(container, **options):
    """Every page there is now, and the continuation after the last."""
    pager = container.query_items_change_feed(**options).by_page()
    found = [list(page) for page in pager]
    # The pager ends on an empty page and drops its continuation; the SDK's samples read it here.
    return found, container.client_connection.last_response_headers["etag"]


def changes(container, **options):
    """Every change there is now, and where to go on."""
    found, continuation = pages(container, **options)
    return [change for page in found for change in page], continuation


def ids(rows):
    return [row["id"] for row in rows]


def split(server, container, *, throughput=25000, partitions=3):
    """Raises the throughput and waits for the split.

    The client under test is not told that its ranges are gone: it has to find out by itself.
    Clients of one process share what they know of ranges, so these are read past that memory.
    """
    with CosmosClient(server.endpoint, server.key) as client:
        _, database, _, name = container.container_link.split("/")
        same = client.get_database_client(database).get_container_client(name)
        same.replace_throughput(throughput)
        deadline = time.monotonic() + SPLIT_SECONDS_MAX
        connection = client.client_connection
        while len(list(connection._ReadPartitionKeyRanges(same.container_link))) < partitions:
            assert time.monotonic() < deadline, "the container did not split"
            time.sleep(0.05)
