"""TLS with the certificate the server makes for itself."""

import socket
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


@pytest.mark.parametrize(
    "flags",
    [
        ssl.VERIFY_DEFAULT,
        # What Python checks by default from 3.13 on.
        ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN,
    ],
)
def test_certificate_is_of_a_server_and_of_no_authority(secure, flags):
    trust = ssl.create_default_context(cafile=secure.ready["certificate"])
    trust.verify_flags |= flags
    # The authorities among what is trusted.
    assert trust.get_ca_certs() == []
    port = urllib.parse.urlparse(secure.endpoint).port
    with socket.create_connection(("127.0.0.1", port)) as plain:
        with trust.wrap_socket(plain, server_hostname="localhost") as connection:
            shown = connection.getpeercert()
    begin, end = (ssl.cert_time_to_seconds(shown[name]) for name in ("notBefore", "notAfter"))
    assert 0 < end - begin <= 825 * 24 * 60 * 60


def test_sdk_with_the_certificate_as_trust_root(secure):
    certificate = secure.ready["certificate"]
    with CosmosClient(secure.endpoint, secure.key, connection_verify=certificate) as client:
        assert client.get_database_account() is not None
