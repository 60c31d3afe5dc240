"""Accounts with regions: started for a test, ordered about as an operator would, and watched."""

import json
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from azure.cosmos import CosmosClient, PartitionKey

import orrery_server

# Not a region, but the address of all of them.
WHOLE = "the account"
WEST, NORTH, ASIA = "West US", "North Europe", "Southeast Asia"
WAIT_SECONDS_MAX = 60


class Account:
    """A server with the regions that are named; the first takes the writes."""

    def __init__(self, *names, data=None, **options):
        self.server = orrery_server.start(regions=names, data=data, options=options)
        self.names_by_port = {}
        for region in self.server.ready["regions"]:
            self._note(region["name"], region["endpoint"])
        self._note(WHOLE, self.server.ready["account"])

    def stop(self):
        self.server.stop()

    @property
    def key(self):
        return self.server.key

    def endpoint(self, region):
        return next(row["endpoint"] for row in self.report()["regions"] if row["name"] == region)

    def _place(self, at):
        return self.server.ready["account"] if at == WHOLE else self.endpoint(at)

    def region_of(self, url):
        """The region that a request was sent to."""
        return self.names_by_port[urllib.parse.urlsplit(url).port]

    def client(self, *preferred, at=None, **options):
        """A client that prefers these regions and knows the account by the endpoint of `at`, or by its own."""
        endpoint = self.server.endpoint if at is None else self._place(at)
        options = {"preferred_locations": list(preferred)} | options
        client = CosmosClient(endpoint, self.key, **options)
        # It looks at each region in the background at first; what a test does then would be seen or not.
        looking = client.client_connection._global_endpoint_manager._refresh_thread
        looking.join()
        return client

    @contextmanager
    def container(self, *preferred, **options):
        """The container of `prepare`, through a client of its own."""
        with self.client(*preferred, **options) as client:
            yield client.get_database_client("db").get_container_client("c")

    def prepare(self, **options):
        """Makes the container `db/c` and waits until every region has it."""
        with self.client() as client:
            client.create_database("db").create_container("c", PartitionKey("/pk"), **options)
        self.wait_even()
        return self

    def report(self):
        return self._order("GET", "/account")

    def state(self, region):
        return next(row for row in self.report()["regions"] if row["name"] == region)

    def link_of(self, sender, receiver):
        ends = (sender, receiver)
        return next(row for row in self.report()["links"] if (row["from"], row["to"]) == ends)

    def false_progress(self, region):
        """What a region had acknowledged that is not part of the history."""
        text = self._ask("GET", f"/regions/{_quoted(region)}/false-progress")
        return [json.loads(line) for line in text.splitlines()]

    def failover(self, to, **how):
        return self._order("POST", "/account/failover", {"to": to} | how)

    def take_down(self, region, partition=None):
        return self._order("POST", f"/regions/{_quoted(region)}/down", _about(partition))

    def bring_up(self, region, partition=None):
        return self._order("POST", f"/regions/{_quoted(region)}/up", _about(partition))

    def add(self, region):
        added = self._order("POST", "/regions", {"name": region})
        self._note(region, added["endpoint"])

    def remove(self, region):
        return self._order("DELETE", f"/regions/{_quoted(region)}")

    def link(self, sender, receiver, order, **more):
        path = f"/links/{_quoted(sender)}/{_quoted(receiver)}"
        return self._order("POST", path, {"order": order} | more)

    @contextmanager
    def paused(self, sender, receiver):
        self.link(sender, receiver, "pause")
        try:
            yield
        finally:
            self.link(sender, receiver, "resume")

    @contextmanager
    def delayed(self, millis):
        """Every link needs this long for one way."""
        self.link("*", "*", "delay", millis=millis)
        try:
            yield
        finally:
            self.link("*", "*", "delay", millis=0)

    def wait_even(self, *regions):
        """Until these regions have applied the same, or all that are up if none is named."""

        def counts(row):
            if regions:
                return row["name"] in regions
            return row["state"] in ("write", "read")

        def is_even():
            rows = [row for row in self.report()["regions"] if counts(row)]
            return len({row[name] for row in rows for name in ("kept", "applied")}) == 1

        wait_until(is_even)

    def _note(self, name, endpoint):
        self.names_by_port[urllib.parse.urlsplit(endpoint).port] = name

    def _order(self, verb, path, body=None):
        return json.loads(self._ask(verb, path, body))

    def _ask(self, verb, path, body=None):
        management = self.server.ready["management"]
        key = management.get("key") or Path(management["keyFile"]).read_text().strip()
        request = urllib.request.Request(
            management["endpoint"].rstrip("/") + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {key}"},
            method=verb,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()


class Trace:
    """Where every attempt of an operation went and how it was answered."""

    def __init__(self, account):
        self.account = account
        self.attempts = []

    def options(self):
        return {"raw_response_hook": self._keep}

    def take(self):
        """What happened since the last look, as (region, status, sub-status)."""
        taken, self.attempts = self.attempts, []
        return taken

    def _keep(self, response):
        url = response.http_request.url
        if urllib.parse.urlsplit(url).path in ("", "/"):
            # The SDK looks at the account in between.
            return
        region = self.account.region_of(url)
        answer = response.http_response
        sub_status = int(answer.headers.get("x-ms-substatus", 0))
        self.attempts.append((region, answer.status_code, sub_status))


def wait_until(holds):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def _quoted(region):
    return urllib.parse.quote(region, safe="*")


def _about(partition):
    return None if partition is None else {"partition": partition}


def refresh_often(client):
    """The SDK looks at the account again after five minutes; a test has less time."""
    client.client_connection._global_endpoint_manager.refresh_time_interval_in_ms = 100
