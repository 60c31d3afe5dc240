"""One of several processes that share the change feed of a container by leases on feed ranges.

    python feed_worker.py ENDPOINT KEY DATABASE NAME

This SDK has no change feed processor, so this is the least that one does: a lease is an item that
names a feed range, who reads it until when, and how far it was read; taking, renewing and
advancing one are conditional replaces. A lease that nobody renews is anybody's.
"""

import sys
import time

from azure.core import MatchConditions
from azure.cosmos import CosmosClient
from azure.cosmos.exceptions import CosmosAccessConditionFailedError

LEASE_SECONDS = 4


def replace(leases, lease, **changes):
    """The lease as it is now, or none when somebody else was faster."""
    try:
        return leases.replace_item(
            lease["id"],
            {**lease, **changes},
            etag=lease["_etag"],
            match_condition=MatchConditions.IfNotModified,
        )
    except CosmosAccessConditionFailedError:
        return None


def take(leases, name):
    """What this worker owns, after it took what is free or one of somebody who has far more."""
    now = time.time()
    everything = list(leases.read_all_items())
    owned = {}
    for lease in everything:
        if lease["until"] > now:
            owned.setdefault(lease["owner"], []).append(lease)
    mine = owned.pop(name, [])
    most = max(owned.values(), key=len, default=[])
    wanted = [lease for lease in everything if lease["until"] <= now]
    if not wanted and len(most) > len(mine) + 1:
        wanted = most[:1]
    for lease in wanted:
        mine.append(replace(leases, lease, owner=name, until=now + LEASE_SECONDS))
    return [lease for lease in mine if lease]


def advance(database, name, lease):
    """Notes one page of changes as seen, then keeps how far it came."""
    where = {"start_time": "Beginning", "feed_range": lease["range"]}
    if lease["continuation"]:
        where = {"continuation": lease["continuation"]}
    source = database.get_container_client("source")
    pager = source.query_items_change_feed(max_item_count=5, **where).by_page()
    for change in next(pager, []):
        key = f"{change['id']}-{change['version']}"
        seen = database.get_container_client("seen")
        seen.upsert_item({"id": key, "owner": name, "lsn": change["_lsn"]})
    continuation = source.client_connection.last_response_headers["etag"]
    if pager.continuation_token:
        continuation = pager.continuation_token
    leases = database.get_container_client("leases")
    replace(leases, lease, continuation=continuation, until=time.time() + LEASE_SECONDS)


def main():
    endpoint, key, database, name = sys.argv[1:]
    with CosmosClient(endpoint, key) as client:
        database = client.get_database_client(database)
        leases = database.get_container_client("leases")
        while True:
            for lease in take(leases, name):
                advance(database, name, lease)
            time.sleep(0.02)


if __name__ == "__main__":
    main()
