"""TLS with the certificate the server makes for itself."""

import ssl
import urllib.error
import urllib.parse
import urllib.request

import pytest
from azure.cosmos import CosmosClient, PartitionKey

import orrery_server


@pytest.fixture(scope="module")
def secure():
    running = orrery_server.start(tls="auto")
    yield running
    running.stop()


def test_sdk_over_tls(secure):
    assert secure.endpoint.startswith("https://")
    with CosmosClient(secure.endpoint, secure.key) as client:
        container = client.create_database("db").create_container("c", PartitionKey("/pk"))
        item = container.create_item({"id": "1", "pk": "a"})
        assert container.read_item("1", "a") == item
        locations = client.get_database_account().WritableLocations
        assert locations[0]["databaseAccountEndpoint"].startswith("https://")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_certificate_verifies_for_local_names(secure, host):
    trust = ssl.create_default_context(cafile=secure.ready["certificate"])
    port = urllib.parse.urlparse(secure.endpoint).port
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"https://{host}:{port}/", context=trust)
    # The handshake succeeded; only the signature is missing.
    assert caught.value.code == 401


def test_sdk_with_the_certificate_as_trust_root(secure):
    certificate = secure.ready["certificate"]
    with CosmosClient(secure.endpoint, secure.key, connection_verify=certificate) as client:
        assert client.get_database_account() is not None
