"""Sends requests to a server, and notes those whose answers every later version must give as well."""

import json
import urllib.parse

from account import wait_until

JSON = {"content-type": "application/json"}
QUERY = {
    "content-type": "application/query+json",
    "x-ms-documentdb-isquery": "True",
    "x-ms-documentdb-query-enablecrosspartition": "True",
    "x-orrery-whole-query": "True",
}
EVERYTHING = {"x-ms-max-item-count": "1000"}


def one(method, resource, link, **more):
    """A request to a resource."""
    path = urllib.parse.quote(f"/{link}", safe="/")
    return {"method": method, "path": path, "resource": resource, "link": link} | more


def feed(method, resource, parent, **more):
    """A request to the feed of a parent."""
    path = urllib.parse.quote(f"/{parent}/{resource}" if parent else f"/{resource}", safe="/")
    return {"method": method, "path": path, "resource": resource, "link": parent} | more


def key(*values):
    """The header that names a partition key."""
    return {"x-ms-documentdb-partitionkey": json.dumps(values)}


class Recorder:
    """What is expected of an account by those who find its directory.

    `reads` have the answers that a reader must get. `writes` are sent by the reader, who must get their status. After
    them, also after another start, the requests of `later` find these ids as changes.
    """

    def __init__(self, account, region=None):
        self.account = account
        self.region = region
        self.reads, self.writes = [], []
        # For each container: where its feeds of changes end, and which changes the writes make.
        self.ends, self.appears = {}, {}

    def send(self, request, status=None):
        """Sends a request that is not noted; gives the headers and the body."""
        if self.region:
            request = {"region": self.region} | request
        found, headers, body = self.account.send(request)
        assert found == status if status else found < 300, (request, found, body)
        return headers, json.loads(body) if body else None

    def make(self, resource, parent, body, headers=None):
        return self.send(feed("POST", resource, parent, headers=JSON | (headers or {}), body=json.dumps(body)))[1]

    def replace(self, resource, link, body, headers=None):
        return self.send(one("PUT", resource, link, headers=JSON | (headers or {}), body=json.dumps(body)))[1]

    def delete(self, resource, link, headers=None):
        self.send(one("DELETE", resource, link, headers=headers or {}))

    def item(self, container, partition_key, body, headers=None):
        """Creates an item, or replaces it with `upsert` among the headers."""
        return self.make("docs", container, body, key(*partition_key) | (headers or {}))

    def patch(self, container, partition_key, id, *operations):
        headers = key(*partition_key) | {"content-type": "application/json_patch+json"}
        body = json.dumps({"operations": operations})
        return self.send(one("PATCH", "docs", f"{container}/docs/{id}", headers=headers, body=body))[1]

    def read(self, request, *, status=200, match="same", once=False, without=()):
        """Notes what the server answers now.

        The answer must be the `same`, or it `includes` what is noted. What the `writes` change is read `once`, before
        them. Properties named in `without` are not noted.
        """
        if self.region:
            request = {"region": self.region} | request
        found, headers, body = self.account.send(request)
        assert found == status, (request, found, body)
        answer = json.loads(body) if body and status < 300 else None
        noted = {"request": request, "status": status, "match": match, "once": once}
        noted |= {"answer": _without(answer, without)}
        # The etag of a feed is a position, which newer versions may write in another form.
        if "a-im" not in request.get("headers", {}) and status == 200 and "etag" in headers:
            noted["etag"] = headers["etag"]
        self.reads.append(noted)
        return headers, answer

    def changes(self, container, **more):
        """Notes the feeds of all changes, from the beginning, from a place amid, and from their end."""
        ends = self.ends.setdefault(container, [])
        for number in self.ranges(container):
            headers = {"a-im": "Incremental feed", "x-ms-documentdb-partitionkeyrangeid": number}
            request = feed("GET", "docs", container, **more)
            whole, found = self.read(request | {"headers": headers | EVERYTHING}, once=True)
            some, _ = self.read(request | {"headers": headers | {"x-ms-max-item-count": "3"}}, once=True)
            amid = headers | EVERYTHING | {"if-none-match": some["etag"]}
            if found["_count"] > 3:
                self.read(request | {"headers": amid}, once=True)
            end = request | {"headers": headers | {"if-none-match": whole["etag"]}}
            self.read(end, status=304, once=True)
            ends.append({"region": self.region} | end if self.region else end)

    def write(self, request, status, appears=None):
        """Notes a write of the reader, and a container with the id of an item that its feeds then have."""
        if self.region:
            request = {"region": self.region} | request
        self.writes.append({"request": request, "status": status})
        if appears:
            container, id = appears
            self.appears.setdefault(container, []).append(id)

    def ranges(self, container):
        found = self.send(feed("GET", "pkranges", container))[1]["PartitionKeyRanges"]
        return [row["id"] for row in found]

    def split(self, container, throughput, count):
        """Raises the throughput and waits until the partitions are there."""
        rid = self.send(one("GET", "colls", container))[1]["_rid"]
        offers = self.send(feed("GET", "offers", ""))[1]["Offers"]
        [offer] = [offer for offer in offers if offer["offerResourceId"] == rid]
        offer["content"]["offerThroughput"] = throughput
        # The link of an offer is its resource id in lower case.
        request = one("PUT", "offers", f"offers/{offer['_rid']}", headers=JSON, body=json.dumps(offer))
        self.send(request | {"link": offer["_rid"].lower()})
        wait_until(lambda: len(self.ranges(container)) == count)

    def noted(self):
        later = [{"requests": self.ends[name], "ids": sorted(ids)} for name, ids in self.appears.items()]
        return {"reads": self.reads, "writes": self.writes, "later": later}


def _without(answer, names):
    if isinstance(answer, list):
        return [_without(value, names) for value in answer]
    if isinstance(answer, dict):
        return {name: _without(value, names) for name, value in answer.items() if name not in names}
    return answer
