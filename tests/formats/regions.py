"""What an account with regions has in a fixture: less of everything, in two regions."""

import json
from contextlib import contextmanager

from account import wait_until
from contents import TTL
from recorder import EVERYTHING, JSON, feed, key, one

WEST, NORTH = "West US", "North Europe"
ITEMS, MAIL, HAND, RANK = "dbs/db/colls/items", "dbs/db/colls/mail", "dbs/db/colls/hand", "dbs/db/colls/rank"
PENDING = "dbs/db/colls/pending"
PROCEDURE = "function hello() { getContext().getResponse().setBody('hello'); }"
HASHED = {"paths": ["/pk"], "kind": "Hash", "version": 2}
UNIQUE = {"uniqueKeys": [{"paths": ["/mail"]}]}


def fill_one_writer(account, west, north):
    """The second region writes in the end, so that epochs and promises stand in the directory."""
    west.make("dbs", "", {"id": "db"})
    for name, more in (("items", {"defaultTtl": -1}), ("mail", {"uniqueKeyPolicy": UNIQUE}), ("pending", {})):
        west.make("colls", "dbs/db", {"id": name, "partitionKey": HASHED} | more)
    west.make("sprocs", ITEMS, {"id": "hello", "body": PROCEDURE})
    for n in range(12):
        west.item(ITEMS, [f"k{n % 3}"], {"id": f"{n}", "pk": f"k{n % 3}", "n": n})
    west.item(MAIL, ["a"], {"id": "1", "pk": "a", "mail": "a@x"})
    _wait_even(account)
    account.order("POST", "/account/failover", {"to": NORTH})
    wait_until(lambda: _state(account, NORTH) == "write" and _state(account, WEST) == "read")
    for n in range(12, 16):
        north.item(ITEMS, [f"k{n % 3}"], {"id": f"{n}", "pk": f"k{n % 3}", "n": n, "ttl": TTL})
    north.patch(ITEMS, ["k0"], "0", {"op": "incr", "path": "/n", "value": 100})
    north.delete("docs", f"{ITEMS}/docs/1", key("k1"))
    _wait_even(account)


def note_one_writer(account, west, north):
    for region in (west, north):
        _note(region, [ITEMS, MAIL])
        region.read(feed("GET", "sprocs", ITEMS), match="includes")
        region.read(one("GET", "docs", f"{ITEMS}/docs/1", headers=key("k1")), status=404)
    _write(north, {ITEMS: {"pk": "k0"}, MAIL: {"pk": "a", "mail": "new@x"}})
    taken = json.dumps({"id": "other", "pk": "a", "mail": "a@x"})
    north.write(feed("POST", "docs", MAIL, headers=key("a"), body=taken), 409)
    # The other region has what the writes changed.
    west.appears = {name: list(ids) for name, ids in north.appears.items()}
    _leave_pending(account, north, west)


def fill_every_writer(account, west, north):
    """Both regions wrote without each other: versions are hidden, conflicts are listed."""
    west.make("dbs", "", {"id": "db"})
    rank = {"conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionPath": "/rank"}}
    hand = {"conflictResolutionPolicy": {"mode": "Custom"}}
    containers = {"items": {}, "mail": rank | {"uniqueKeyPolicy": UNIQUE}, "hand": hand, "rank": rank, "pending": {}}
    for name, more in containers.items():
        west.make("colls", "dbs/db", {"id": name, "partitionKey": HASHED} | more)
    for name in containers:
        wait_until(lambda: _has(north, one("GET", "colls", f"dbs/db/colls/{name}")))
    for n in range(6):
        region = (west, north)[n % 2]
        region.item(ITEMS, ["p"], {"id": f"{n}", "pk": "p", "n": n})
    west.item(RANK, ["p"], {"id": "deleted", "pk": "p", "rank": 1})
    _wait_for_links(account)
    with _apart(account):
        for rank, region in ((1, west), (2, north)):
            region.item(RANK, ["p"], {"id": "1", "pk": "p", "rank": rank, "from": region.region})
            region.item(HAND, ["p"], {"id": "1", "pk": "p", "from": region.region})
            region.item(MAIL, ["p"], {"id": f"{rank}", "pk": "p", "mail": "same@x", "rank": rank})
        west.delete("docs", f"{RANK}/docs/deleted", key("p"))
        north.patch(RANK, ["p"], "deleted", {"op": "set", "path": "/rank", "value": 9})
    # The catalogue is changed in one region, and hidden versions have no feed: what is shown tells.
    for request, status in _SHOWN:
        wait_until(lambda: {_ask(region, request)[0] for region in (west, north)} == {status})
        if status == 200:
            wait_until(lambda: _ask(west, request)[2] == _ask(north, request)[2])
    conflicts = feed("GET", "conflicts", HAND)
    wait_until(lambda: '"_count":1' in _ask(west, conflicts)[2].replace(" ", ""))
    wait_until(lambda: _ask(west, conflicts)[2] == _ask(north, conflicts)[2])


def note_every_writer(account, west, north):
    for region in (west, north):
        _note(region, [ITEMS, MAIL, HAND, RANK])
        region.read(feed("GET", "conflicts", HAND), once=True)
        for request, status in _SHOWN:
            region.read(request, status=status)
    _write(west, {ITEMS: {"pk": "p"}, MAIL: {"pk": "p", "mail": "new@x"}})
    taken = json.dumps({"id": "other", "pk": "p", "mail": "same@x"})
    west.write(feed("POST", "docs", MAIL, headers=key("p"), body=taken), 409)
    north.appears = {name: list(ids) for name, ids in west.appears.items()}
    _write(north, {HAND: {"pk": "p"}, RANK: {"pk": "p", "rank": 1}})
    _leave_pending(account, west, north)


_SHOWN = [
    (one("GET", "docs", f"{RANK}/docs/1", headers=key("p")), 200),
    (one("GET", "docs", f"{RANK}/docs/deleted", headers=key("p")), 404),
    (one("GET", "docs", f"{HAND}/docs/1", headers=key("p")), 200),
    (one("GET", "docs", f"{MAIL}/docs/1", headers=key("p")), 404),
    (one("GET", "docs", f"{MAIL}/docs/2", headers=key("p")), 200),
]


def _note(region, containers):
    region.read(feed("GET", "dbs", ""), match="includes")
    region.read(feed("GET", "colls", "dbs/db"), match="includes")
    for container in containers:
        region.read(feed("GET", "pkranges", container), match="includes", without=["_lsn", "lsn"])
        region.read(feed("GET", "docs", container, headers=EVERYTHING), once=True)
        region.changes(container)


def _write(region, items):
    for container, body in items.items():
        text = json.dumps({"id": "written"} | body)
        request = feed("POST", "docs", container, headers=key(body["pk"]) | JSON, body=text)
        region.write(request, 201, (container, "written"))


def _leave_pending(account, writer, other):
    """A write that the other region has not got when the server is killed, and must get at the next start."""
    account.order("POST", "/links/*/*", {"order": "cut"})
    writer.item(PENDING, ["p"], {"id": "1", "pk": "p"})
    request = one("GET", "docs", f"{PENDING}/docs/1", headers=key("p"))
    writer.read(request)
    other.send(request, 404)
    noted = dict(writer.reads[-1])
    noted["request"] = {"region": other.region} | request
    other.reads.append(noted)


@contextmanager
def _apart(account):
    account.order("POST", "/links/*/*", {"order": "cut"})
    try:
        yield
    finally:
        account.order("POST", "/links/*/*", {"order": "resume"})
    _wait_for_links(account)


def _report(account):
    return account.order("GET", "/account")


def _state(account, name):
    return next(row["state"] for row in _report(account)["regions"] if row["name"] == name)


def _wait_even(account):
    def is_even():
        rows = _report(account)["regions"]
        return len({row[name] for row in rows for name in ("kept", "applied")}) == 1

    wait_until(is_even)


def _wait_for_links(account):
    wait_until(lambda: all(link["behind"]["records"] == 0 for link in _report(account)["links"]))


def _ask(region, request):
    return region.account.send({"region": region.region} | request)


def _has(region, request):
    return _ask(region, request)[0] == 200
