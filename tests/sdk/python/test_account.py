"""What a client learns about the account, and how it is let in."""

from azure.cosmos import CosmosClient

from expect import Hook, failure

OTHER_KEY = "b3RoZXItb3RoZXItb3RoZXItb3RoZXItb3RoZXItb3RoZXItb3RoZXItb3RoZXI="


def test_account_describes_one_region_with_session_consistency(client, server):
    account = client.get_database_account()
    assert account.ConsistencyPolicy["defaultConsistencyLevel"] == "Session"
    assert len(account.WritableLocations) == 1
    assert account.WritableLocations == account.ReadableLocations
    endpoint = account.WritableLocations[0]["databaseAccountEndpoint"]
    assert endpoint.rstrip("/") == server.endpoint.rstrip("/")


def test_account_tells_of_media_storage(client):
    hook = Hook()
    client.get_database_account(response_hook=hook)
    for name in ("x-ms-media-storage-usage-mb", "x-ms-max-media-storage-usage-mb"):
        assert int(hook.headers[name]) >= 0


def test_connection_string_opens_the_account(server):
    text = f"AccountEndpoint={server.endpoint};AccountKey={server.key};"
    with CosmosClient.from_connection_string(text) as client:
        assert client.get_database_account() is not None


def test_wrong_key_is_unauthorized(server):
    with failure(401, message="Unauthorized") as caught:
        CosmosClient(server.endpoint, OTHER_KEY)
    assert "to sign" in str(caught.value)


def test_ready_line_names_version_and_process(server):
    assert server.ready["pid"] == server.process.pid
    assert server.ready["version"]
    assert server.ready["certificate"] is None
