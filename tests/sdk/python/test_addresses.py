"""Where clients are told that the account and its regions are."""

import sys
import urllib.parse

import pytest
from azure.cosmos import CosmosClient, PartitionKey

import orrery_server
from regions import NORTH, WEST, wait_until


def endpoints(client):
    account = client.get_database_account()
    return [row["databaseAccountEndpoint"] for row in account.ReadableLocations]


@pytest.mark.parametrize("tls, scheme", [("off", "http"), ("auto", "https")])
def test_an_account_that_answers_as_the_emulator_does(tls, scheme, monkeypatch):
    server = orrery_server.start(tls=tls, options={"advertise": "emulator"})
    try:
        port = urllib.parse.urlsplit(server.endpoint).port
        told = f"{scheme}://127.0.0.1:{port}/"
        assert server.endpoint == told
        if tls == "auto":
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", server.ready["certificate"])
        with CosmosClient(f"{scheme}://localhost:{port}/", server.key) as client:
            assert endpoints(client) == [told]
            client.create_database("db").create_container("c", PartitionKey("/pk"))
    finally:
        server.stop()


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has one loopback address only")
def test_each_region_has_a_host_of_its_own_that_the_certificate_names(monkeypatch):
    regions = (WEST, f"{NORTH}=127.0.0.2:0")
    server = orrery_server.start(tls="auto", regions=regions)
    try:
        told = [region["endpoint"] for region in server.ready["regions"]]
        hosts = [urllib.parse.urlsplit(url).hostname for url in told]
        assert hosts == ["127.0.0.1", "127.0.0.2"]
        # The SDK verifies hosts other than 127.0.0.1, by what the system trusts.
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", server.ready["certificate"])
        for url, name in zip(told, (WEST, NORTH)):
            with CosmosClient(url, server.key, preferred_locations=[name]) as client:
                assert endpoints(client) == told
                database = client.create_database(urllib.parse.quote(name))
                wait_until(lambda: database.id in {row["id"] for row in client.list_databases()})
    finally:
        server.stop()
