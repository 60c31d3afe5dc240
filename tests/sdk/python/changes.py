"""Short words for the change feed, and for containers that split."""

import time

SPLIT_SECONDS_MAX = 20


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


def split(container, other, *, throughput=25000, partitions=3):
    """Raises the throughput through one client and waits with another.

    The first client is not told that its ranges are gone: it has to find out by itself.
    """
    container.replace_throughput(throughput)
    path = container.container_link.split("/")
    seen_by_other = other.get_database_client(path[1]).get_container_client(path[3])
    deadline = time.monotonic() + SPLIT_SECONDS_MAX
    while len(list(seen_by_other.read_feed_ranges(force_refresh=True))) < partitions:
        assert time.monotonic() < deadline, "the container did not split"
        time.sleep(0.05)
