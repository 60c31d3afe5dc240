"""What an account without regions has in a fixture: something of everything that a version can store."""

import json
import time

from account import wait_until
from recorder import EVERYTHING, JSON, QUERY, feed, key, one

UPSERT = {"x-ms-documentdb-is-upsert": "True"}
BATCH = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
BATCH |= {"x-ms-cosmos-batch-ordered": "True"}
# Minutes. Whatever day it is when somebody opens the fixture, no version is too old.
RETENTION = 100 * 365 * 24 * 60
# Seconds.
TTL = 2_000_000_000
MOUNTAIN = "Fjäll 山 🏔 \u0000\u2028\"\\"

PROCEDURE = """
function many(count) {
  var collection = getContext().getCollection();
  for (var n = 0; n < count; n++) {
    collection.createDocument(collection.getSelfLink(), { id: "made-" + n, pk: "s", n: n });
  }
  getContext().getResponse().setBody(count);
}
"""
COUNTING = """
function counted() {
  var collection = getContext().getCollection();
  collection.queryDocuments(collection.getSelfLink(), "SELECT VALUE COUNT(1) FROM c", function (error, found) {
    getContext().getResponse().setBody({ found: found });
  });
}
"""
TRIGGER = """
function stamp() {
  var request = getContext().getRequest();
  var item = request.getBody();
  item.stamped = true;
  request.setBody(item);
}
"""
FUNCTION = "function twice(n) { return 2 * n; }"

PLAIN, KEPT, SMALL = "dbs/shop/colls/plain", "dbs/shop/colls/kept", "dbs/shop/colls/small"
TREE, UNIQUE, FLEETING = "dbs/own/colls/tree", "dbs/own/colls/unique", "dbs/own/colls/fleeting"
SPLIT, FORMER, SCRIPTS = "dbs/own/colls/split", "dbs/own/colls/former", "dbs/own/colls/scripts"
INDEXED, LATE = "dbs/own/colls/indexed", "dbs/läden 店/colls/late"
CONTAINERS = [PLAIN, KEPT, SMALL, TREE, UNIQUE, FLEETING, SPLIT, FORMER, SCRIPTS, INDEXED, LATE]
# Keys of every type, without one last.
KEYS = [["a"], ["ä 山"], [""], [7], [-0.5], [1e300], [True], [False], [None], [{}]]


class Contents:
    """Fills an account, and notes what it then shows."""

    def __init__(self):
        # Where the feed of all versions began.
        self.versions_begin = None
        # Tokens that a client keeps.
        self.sessions = {}

    def fill(self, to):
        to.make("dbs", "", {"id": "shop"}, {"x-ms-offer-throughput": "600"})
        to.make("dbs", "", {"id": "own"})
        for definition, headers in _definitions():
            parent = "dbs/shop" if definition["id"] in ("plain", "kept", "small") else "dbs/own"
            to.make("colls", parent, definition, headers)
        self._fill_plain(to)
        self._fill_kept(to)
        self._fill_with_policies(to)
        self._fill_scripts(to)
        for n in range(24):
            to.item(SPLIT, [f"k{n % 8}"], {"id": f"i{n:02}", "pk": f"k{n % 8}", "n": n})
        to.split(SPLIT, 25000, 3)
        for n in range(24, 34):
            to.item(SPLIT, [f"k{n % 8}"], {"id": f"i{n:02}", "pk": f"k{n % 8}", "n": n})
        to.make("users", "dbs/shop", {"id": "ann"})
        to.make("users", "dbs/shop", {"id": "bob"})
        permission = {"id": "all", "permissionMode": "All", "resource": PLAIN}
        to.make("permissions", "dbs/shop/users/ann", permission)
        permission = {"id": "one", "permissionMode": "Read", "resource": PLAIN, "resourcePartitionKey": ["a"]}
        to.make("permissions", "dbs/shop/users/ann", permission)
        to.delete("colls", "dbs/own/colls/gone")

    def change(self, to):
        """What a killed server has in its log alone."""
        for n in range(5):
            to.item(PLAIN, ["a"], {"id": f"changed-{n}", "pk": "a", "n": n})
        to.replace("docs", f"{PLAIN}/docs/changed-1", {"id": "changed-1", "pk": "a", "n": 11}, key("a"))
        to.patch(PLAIN, ["a"], "changed-2", {"op": "set", "path": "/deep", "value": {"s": MOUNTAIN}})
        to.delete("docs", f"{PLAIN}/docs/changed-3", key("a"))
        to.delete("docs", f"{PLAIN}/docs/all-but-gone", key("a"))
        to.item(PLAIN, ["a"], {"id": "large", "pk": "a", "text": "larger 山 " * 10_000}, UPSERT)
        self._batch(to, "second")
        to.send(feed("POST", "docs", PLAIN, headers=key("doomed") | JSON, body="{}")
                | {"path": f"/{PLAIN}/operations/partitionkeydelete", "resource": "partitionkey"})
        to.item(KEPT, ["a"], {"id": "1", "pk": "a", "n": 3}, UPSERT)
        to.delete("docs", f"{KEPT}/docs/2", key("a"))
        to.item(TREE, ["t", "u", "new"], {"id": "late", "a": "t", "b": "u", "c": "new"})
        to.item(UNIQUE, ["a"], {"id": "4", "pk": "a", "mail": "d@x", "a": 2, "b": 1})
        to.delete("docs", f"{UNIQUE}/docs/3", key("a"))
        to.item(FLEETING, ["a"], {"id": "long 2", "pk": "a", "ttl": TTL})
        for n in range(34, 40):
            to.item(SPLIT, [f"k{n % 8}"], {"id": f"i{n:02}", "pk": f"k{n % 8}", "n": n})
        to.send(one("POST", "sprocs", f"{SCRIPTS}/sprocs/many", headers=key("s") | JSON, body="[2]"), 200)
        to.replace("sprocs", f"{SCRIPTS}/sprocs/counted", {"id": "counted", "body": COUNTING + "// again\n"})
        definition = _definitions()[-2][0] | {"indexingPolicy": {"includedPaths": [{"path": "/n/?"}],
                                                                 "excludedPaths": [{"path": "/*"}]}}
        to.replace("colls", INDEXED, definition)
        to.make("dbs", "", {"id": "läden 店"}, {"x-ms-offer-throughput": "500"})
        to.make("colls", "dbs/läden 店", {"id": "late", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}})
        to.item(LATE, ["x"], {"id": "1", "pk": "x", "text": MOUNTAIN})
        to.make("users", "dbs/läden 店", {"id": "eva"})
        to.delete("users", "dbs/shop/users/bob")
        to.make("dbs", "", {"id": "short"})
        to.delete("dbs", "dbs/short")
        # It expires when nobody may be there any more who could remove it.
        headers, _ = to.send(feed("POST", "docs", FLEETING, headers=key("a"),
                                  body=json.dumps({"id": "shortest", "pk": "a", "ttl": 1})))
        self.sessions[FLEETING] = headers["x-ms-session-token"]
        time.sleep(2.5)

    def note(self, to):
        """Everything that can be read, and what the reader writes."""
        to.read(feed("GET", "dbs", ""), match="includes", once=True)
        to.read(feed("GET", "offers", ""), match="includes", once=True)
        for database in ("shop", "own", "läden 店"):
            to.read(one("GET", "dbs", f"dbs/{database}"), match="includes")
            to.read(feed("GET", "colls", f"dbs/{database}"), match="includes", once=True)
            to.read(feed("GET", "users", f"dbs/{database}"), match="includes")
        to.read(feed("GET", "permissions", "dbs/shop/users/ann"), match="includes", without=["_token"])
        to.read(one("GET", "colls", "dbs/own/colls/gone"), status=404)
        to.read(one("GET", "dbs", "dbs/short"), status=404)
        for container in CONTAINERS:
            ranges = feed("GET", "pkranges", container)
            to.read(ranges, match="includes", without=["_lsn", "lsn"], once=container == SMALL)
            to.read(feed("GET", "docs", container, headers=EVERYTHING), once=True)
            to.changes(container)
        for resource in ("sprocs", "triggers", "udfs"):
            to.read(feed("GET", resource, SCRIPTS), match="includes")
        self._note_items(to)
        self._note_queries(to)
        _note_writes(to)

    def _fill_plain(self, to):
        for n, values in enumerate(KEYS):
            part = {} if values == [{}] else {"pk": values[0]}
            to.item(PLAIN, values, {"id": f"key-{n}"} | part | {"n": n})
        values = {"zero": 0, "negative": -0.0, "integer": 9007199254740993, "huge": 1.7976931348623157e308}
        values |= {"tiny": 5e-324, "third": 1 / 3, "none": None, "yes": True, "no": False, "empty": "", "object": {}}
        values |= {"list": [1, [2, [3]], {"a": []}], "text": MOUNTAIN, "ключ": "значение"}
        to.item(PLAIN, ["a"], {"id": "värde 店 'quote'", "pk": "a"} | values)
        to.item(PLAIN, ["a"], {"id": "large", "pk": "a", "text": "large 山 " * 10_000, "last": 1})
        for id in ("replaced", "patched", "deleted", "upserted", "all-but-gone", "again"):
            to.item(PLAIN, ["a"], {"id": id, "pk": "a", "n": 1, "list": [1, 2]})
        to.replace("docs", f"{PLAIN}/docs/replaced", {"id": "replaced", "pk": "a", "n": 2}, key("a"))
        operations = [{"op": "incr", "path": "/n", "value": 5}, {"op": "add", "path": "/list/1", "value": "in"}]
        to.patch(PLAIN, ["a"], "patched", *operations)
        to.delete("docs", f"{PLAIN}/docs/deleted", key("a"))
        to.item(PLAIN, ["a"], {"id": "upserted", "pk": "a", "n": 2}, UPSERT)
        to.delete("docs", f"{PLAIN}/docs/again", key("a"))
        to.item(PLAIN, ["a"], {"id": "again", "pk": "a", "n": 2})
        to.item(PLAIN, ["a"], {"id": "not indexed", "pk": "a", "n": 1}, {"x-ms-indexing-directive": "Exclude"})
        for n in range(3):
            to.item(PLAIN, ["doomed"], {"id": f"{n}", "pk": "doomed"})
        self._batch(to, "first")
        to.item(SMALL, ["a"], {"id": "1", "pk": "a"})

    def _batch(self, to, name):
        operations = [
            {"operationType": "Create", "resourceBody": {"id": f"{name}-1", "pk": "b", "n": 1}},
            {"operationType": "Upsert", "resourceBody": {"id": f"{name}-2", "pk": "b", "n": 2}},
            {"operationType": "Patch", "id": f"{name}-1",
             "resourceBody": {"operations": [{"op": "set", "path": "/n", "value": 3}]}},
        ]
        body = json.dumps(operations)
        headers, found = to.send(feed("POST", "docs", PLAIN, headers=key("b") | BATCH | JSON, body=body), 200)
        assert [row["statusCode"] for row in found] == [201, 201, 200], found
        self.sessions[PLAIN] = headers["x-ms-session-token"]

    def _fill_kept(self, to):
        headers = {"a-im": "Full-Fidelity Feed", "x-ms-cosmos-changefeed-wire-format-version": "2021-09-15"}
        headers |= {"if-none-match": "*", "x-ms-documentdb-partitionkeyrangeid": "0"}
        begin, _ = to.send(feed("GET", "docs", KEPT, headers=headers), 304)
        self.versions_begin = headers | {"if-none-match": begin["etag"]}
        for id in ("1", "2", "3"):
            to.item(KEPT, ["a"], {"id": id, "pk": "a", "n": 1})
        to.item(KEPT, ["a"], {"id": "1", "pk": "a", "n": 2}, UPSERT)
        to.delete("docs", f"{KEPT}/docs/3", key("a"))

    def _fill_with_policies(self, to):
        for n, values in enumerate([["t", "u", "v"], ["t", "u", "w"], ["t", "x", 1], ["y", None, True], ["t", "u", {}]]):
            parts = {name: value for name, value in zip("abc", values) if value != {}}
            to.item(TREE, values, {"id": f"{n}"} | parts)
        point = {"type": "Point", "coordinates": [13.4, 52.5]}
        for n in (1, 2, 3):
            body = {"id": f"{n}", "pk": "a", "mail": f"{'abc'[n - 1]}@x", "a": n % 2, "b": n, "place": point}
            to.item(UNIQUE, ["a"], body)
        to.item(UNIQUE, ["b"], {"id": "1", "pk": "b", "mail": "a@x", "a": 1, "b": 1})
        to.item(FLEETING, ["a"], {"id": "for ever", "pk": "a", "ttl": -1})
        to.item(FLEETING, ["a"], {"id": "long", "pk": "a", "ttl": TTL})
        to.item(FLEETING, ["a"], {"id": "short", "pk": "a", "ttl": 1})
        for n in range(3):
            to.item(FORMER, [f"{'k' * 120}{n}"], {"id": f"{n}", "pk": f"{'k' * 120}{n}"})
        for n in range(20):
            to.item(INDEXED, [f"{n % 3}"], {"id": f"{n}", "pk": f"{n % 3}", "n": n, "text": f"{n % 7}" * 100})

    def _fill_scripts(self, to):
        to.make("sprocs", SCRIPTS, {"id": "many", "body": PROCEDURE})
        to.make("sprocs", SCRIPTS, {"id": "counted", "body": COUNTING})
        to.make("sprocs", SCRIPTS, {"id": "gone", "body": COUNTING})
        to.delete("sprocs", f"{SCRIPTS}/sprocs/gone")
        trigger = {"id": "stamp", "body": TRIGGER, "triggerType": "Pre", "triggerOperation": "Create"}
        to.make("triggers", SCRIPTS, trigger)
        to.make("udfs", SCRIPTS, {"id": "twice", "body": FUNCTION})
        to.item(SCRIPTS, ["s"], {"id": "0", "pk": "s", "n": 5}, {"x-ms-documentdb-pre-trigger-include": "stamp"})
        to.item(SCRIPTS, ["s"], {"id": "1", "pk": "s", "n": 6})
        # The first two are there again when the procedure runs the second time.
        to.send(one("POST", "sprocs", f"{SCRIPTS}/sprocs/many", headers=key("s") | JSON, body="[3]"), 200)
        for n in range(2):
            to.delete("docs", f"{SCRIPTS}/docs/made-{n}", key("s"))

    def _note_items(self, to):
        session = {"x-ms-session-token": self.sessions[PLAIN]}
        for id in ("värde 店 'quote'", "large", "replaced", "patched", "upserted", "again", "not indexed"):
            to.read(one("GET", "docs", f"{PLAIN}/docs/{id}", headers=key("a") | session))
        for n, values in enumerate(KEYS):
            to.read(one("GET", "docs", f"{PLAIN}/docs/key-{n}", headers=key(*values)))
        for id in ("deleted", "all-but-gone", "changed-3"):
            to.read(one("GET", "docs", f"{PLAIN}/docs/{id}", headers=key("a")), status=404)
        to.read(one("GET", "docs", f"{PLAIN}/docs/1", headers=key("doomed")), status=404)
        session = {"x-ms-session-token": self.sessions[FLEETING]}
        for id in ("short", "shortest"):
            to.read(one("GET", "docs", f"{FLEETING}/docs/{id}", headers=key("a") | session), status=404)
        # The first versions showed the former image of a replaced item without being asked for it.
        versions = feed("GET", "docs", KEPT, headers=self.versions_begin)
        to.read(versions, once=True, match="includes")
        for change in to.reads[-1]["answer"]["Documents"]:
            if change["metadata"]["operationType"] == "replace":
                change.pop("previous", None)
        for headers in (EVERYTHING, {"x-ms-max-item-count": "2"}):
            more, _ = to.read(feed("GET", "docs", SPLIT, headers=headers), once=True)
        headers = EVERYTHING | {"x-ms-continuation": more["x-ms-continuation"]}
        to.read(feed("GET", "docs", SPLIT, headers=headers), once=True)

    def _note_queries(self, to):
        def query(container, text, more=None, **how):
            body = json.dumps({"query": text, "parameters": []})
            headers = QUERY | EVERYTHING | (more or {})
            return to.read(feed("POST", "docs", container, headers=headers, body=body), once=True, **how)

        query(PLAIN, "SELECT VALUE c.id FROM c WHERE c.n >= 2 ORDER BY c.n DESC")
        query(PLAIN, "SELECT VALUE c.n FROM c WHERE c.pk = 'a' AND IS_DEFINED(c.list)", key("a"))
        query(TREE, "SELECT VALUE c.id FROM c WHERE c.a = 't' AND c.b = 'u' ORDER BY c.id")
        query(TREE, "SELECT VALUE c.id FROM c ORDER BY c.id", key("t", "u"))
        query(UNIQUE, "SELECT VALUE c.id FROM c WHERE c.pk = 'a' ORDER BY c.a ASC, c.b DESC", key("a"))
        near = "ST_DISTANCE(c.place, {'type': 'Point', 'coordinates': [13.4, 52.5]}) < 10"
        query(UNIQUE, f"SELECT VALUE c.id FROM c WHERE {near} ORDER BY c.id")
        query(UNIQUE, "SELECT VALUE c.lower FROM c WHERE c.lower = 'a@x'")
        query(FLEETING, "SELECT VALUE c.id FROM c ORDER BY c.id")
        query(SPLIT, "SELECT VALUE c.n FROM c ORDER BY c.n")
        query(SPLIT, "SELECT c.pk, COUNT(1) AS many, SUM(c.n) AS n FROM c WHERE c.n > 10 GROUP BY c.pk")
        query(SCRIPTS, "SELECT VALUE udf.twice(c.n) FROM c WHERE c.pk = 's' ORDER BY c.id", key("s"))
        query(INDEXED, "SELECT VALUE c.id FROM c WHERE c.n > 12 ORDER BY c.n")
        query(INDEXED, "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.text, '3')")
        query(INDEXED, "SELECT VALUE COUNT(1) FROM c WHERE c.n < 10 OR c.text > '5'")
        some, _ = query(INDEXED, "SELECT VALUE c.id FROM c ORDER BY c.n", {"x-ms-max-item-count": "5"})
        query(INDEXED, "SELECT VALUE c.id FROM c ORDER BY c.n", {"x-ms-continuation": some["x-ms-continuation"]})
        counted = one("POST", "sprocs", f"{SCRIPTS}/sprocs/counted", headers=key("s") | JSON, body="[]")
        to.read(counted, once=True)


def _definitions():
    """Definitions of containers, each with the headers of its creation."""

    def hashed(name, path="/pk", **more):
        return {"id": name, "partitionKey": {"paths": [path], "kind": "Hash", "version": 2}} | more

    own = {"x-ms-offer-throughput": "400"}
    unique = {
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/mail"]}, {"paths": ["/a", "/b"]}]},
        "computedProperties": [{"name": "lower", "query": "SELECT VALUE LOWER(c.mail) FROM c"}],
        "indexingPolicy": {
            "includedPaths": [{"path": "/*"}, {"path": "/lower/?"}],
            "excludedPaths": [{"path": "/not/*"}],
            "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
            "spatialIndexes": [{"path": "/place/*", "types": ["Point", "Polygon"]}],
        },
        "conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionPath": "/rank"},
    }
    tree = {"paths": ["/a", "/b", "/c"], "kind": "MultiHash", "version": 2}
    return [
        (hashed("plain"), {}),
        (hashed("kept", changeFeedPolicy={"retentionDuration": RETENTION}), {}),
        (hashed("small"), {}),
        ({"id": "tree", "partitionKey": tree}, own),
        (hashed("unique", **unique), own),
        (hashed("fleeting", defaultTtl=-1), {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput": 2000}'}),
        (hashed("split"), own),
        # No version: keys as the protocol had them first.
        ({"id": "former", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}, own),
        (hashed("scripts"), own),
        (hashed("indexed"), own),
        (hashed("gone"), own),
    ]


def _note_writes(to):
    """One new item for each container, and what must be refused for what is already there."""
    items = {
        PLAIN: (["a"], {"pk": "a"}),
        KEPT: (["a"], {"pk": "a"}),
        SMALL: (["a"], {"pk": "a"}),
        TREE: (["t", "u", "v"], {"a": "t", "b": "u", "c": "v"}),
        UNIQUE: (["a"], {"pk": "a", "mail": "new@x", "a": 9, "b": 9}),
        FLEETING: (["a"], {"pk": "a", "ttl": TTL}),
        SPLIT: (["k3"], {"pk": "k3"}),
        FORMER: (["new"], {"pk": "new"}),
        SCRIPTS: (["s"], {"pk": "s"}),
        INDEXED: (["0"], {"pk": "0", "n": 99}),
        LATE: (["x"], {"pk": "x"}),
    }
    for container, (values, body) in items.items():
        text = json.dumps({"id": "written"} | body)
        to.write(feed("POST", "docs", container, headers=key(*values), body=text), 201, (container, "written"))
    taken = json.dumps({"id": "other", "pk": "a", "mail": "a@x", "a": 8, "b": 8})
    to.write(feed("POST", "docs", UNIQUE, headers=key("a"), body=taken), 409)
    # The value of an item that was deleted is free.
    free = json.dumps({"id": "other", "pk": "a", "mail": "c@x", "a": 8, "b": 8})
    to.write(feed("POST", "docs", UNIQUE, headers=key("a"), body=free), 201, (UNIQUE, "other"))
    there = json.dumps({"id": "1", "pk": "a"})
    to.write(feed("POST", "docs", SMALL, headers=key("a"), body=there), 409)
    found = to.send(one("GET", "docs", f"{PLAIN}/docs/changed-1", headers=key("a")))[1]
    text = json.dumps({"id": "changed-1", "pk": "a", "n": "written"})
    tag = key("a") | {"if-match": found["_etag"]}
    to.write(one("PUT", "docs", f"{PLAIN}/docs/changed-1", headers=tag, body=text), 200, (PLAIN, "changed-1"))
    to.write(one("PUT", "docs", f"{PLAIN}/docs/changed-1", headers=tag, body=text), 412)
    to.write(one("DELETE", "docs", f"{SPLIT}/docs/i25", headers=key("k1")), 204)
    many = one("POST", "sprocs", f"{SCRIPTS}/sprocs/many", headers=key("s") | JSON, body="[2]")
    to.write(many, 400)
    stamped = key("s") | {"x-ms-documentdb-pre-trigger-include": "stamp"}
    text = json.dumps({"id": "stamped", "pk": "s"})
    to.write(feed("POST", "docs", SCRIPTS, headers=stamped, body=text), 201, (SCRIPTS, "stamped"))
    to.write(feed("POST", "colls", "dbs/shop", headers=JSON, body=json.dumps({"id": "gone", "partitionKey": {
        "paths": ["/pk"], "kind": "Hash", "version": 2}})), 201)
    to.write(feed("POST", "colls", "dbs/shop", headers=JSON, body=json.dumps({"id": "plain", "partitionKey": {
        "paths": ["/pk"], "kind": "Hash", "version": 2}})), 409)
    to.write(one("DELETE", "colls", SMALL), 204)
    to.appears.pop(SMALL)
