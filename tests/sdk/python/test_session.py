"""Session tokens: on every answer, growing with writes, enforced on reads."""

import re

import pytest
from azure.cosmos import CosmosClient

from expect import Hook, failure, sending

TOKEN = re.compile(r"^(\d+):-1#(\d+)$")


def lsn(headers):
    match = TOKEN.match(headers["x-ms-session-token"])
    assert match, headers["x-ms-session-token"]
    return int(match.group(2))


def test_every_write_advances_by_one_and_reads_do_not(new_container):
    made = new_container()
    hook = Hook()
    seen = []
    made.create_item({"id": "1", "pk": "a", "n": 0}, response_hook=hook)
    seen.append(lsn(hook.headers))
    made.upsert_item({"id": "1", "pk": "a", "n": 1}, response_hook=hook)
    seen.append(lsn(hook.headers))
    made.replace_item("1", {"id": "1", "pk": "a", "n": 2}, response_hook=hook)
    seen.append(lsn(hook.headers))
    made.patch_item("1", "a", [{"op": "incr", "path": "/n", "value": 1}], response_hook=hook)
    seen.append(lsn(hook.headers))
    made.read_item("1", "a", response_hook=hook)
    assert lsn(hook.headers) == seen[-1]
    made.delete_item("1", "a", response_hook=hook)
    seen.append(lsn(hook.headers))
    assert seen == list(range(seen[0], seen[0] + 5))


def test_errors_carry_the_token(container, pk):
    container.create_item({"id": "1", "pk": pk})
    with failure(404) as missing:
        container.read_item("none", pk)
    with failure(409) as conflict:
        container.create_item({"id": "1", "pk": pk})
    for caught in (missing, conflict):
        assert lsn(caught.value.headers) > 0


def test_range_id_and_content_path_headers(container, pk):
    hook = Hook()
    container.create_item({"id": "1", "pk": pk}, response_hook=hook)
    assert hook.headers["x-ms-documentdb-partitionkeyrangeid"] == "0"
    assert hook.headers["x-ms-alt-content-path"] == container.container_link
    assert hook.headers["x-ms-content-path"] == container.read()["_rid"]
    assert int(hook.headers["lsn"]) == lsn(hook.headers)


def test_query_and_feed_carry_the_token(container, pk):
    container.create_item({"id": "1", "pk": pk})
    hook = Hook()
    list(container.query_items("SELECT * FROM c", partition_key=pk, response_hook=hook))
    assert lsn(hook.headers) > 0
    list(container.read_all_items(**hook.raw()))
    assert "x-ms-session-token" in hook.headers


def test_token_names_the_serving_range(wide_container):
    seen = set()
    hook = Hook()
    for n in range(20):
        wide_container.read_item(f"i{n}", f"k{n}", response_hook=hook)
        part = hook.headers["x-ms-session-token"].split(":")[0]
        assert part == hook.headers["x-ms-documentdb-partitionkeyrangeid"]
        seen.add(part)
    assert seen == {"0", "1", "2"}


def test_read_ahead_of_the_partition_is_refused(server, database, container, pk):
    container.create_item({"id": "1", "pk": pk})
    # Without endpoint discovery the SDK does not try again with the token dropped.
    with CosmosClient(server.endpoint, server.key, enable_endpoint_discovery=False) as plain:
        seen = plain.get_database_client(database.id).get_container_client(container.id)
        with failure(404, sub_status=1002, message="session is not available"):
            seen.read_item("1", pk, session_token="0:-1#999999999")


def test_older_and_foreign_tokens_are_accepted(container, pk):
    container.create_item({"id": "1", "pk": pk})
    for token in ("0:-1#1", "77:-1#999999", "0:-1#1,77:-1#999999"):
        assert container.read_item("1", pk, session_token=token)["id"] == "1"


def test_malformed_token_is_refused(container, pk):
    container.create_item({"id": "1", "pk": pk})
    with failure(400):
        container.read_item("1", pk, **sending("x-ms-session-token", "0:what#ever"))


@pytest.mark.parametrize("level", ["Eventual", "ConsistentPrefix"])
def test_weaker_levels_ignore_the_token(server, database, container, pk, level):
    container.create_item({"id": "1", "pk": pk})
    with CosmosClient(server.endpoint, server.key, consistency_level=level) as weaker:
        seen = weaker.get_database_client(database.id).get_container_client(container.id)
        read = seen.read_item("1", pk, **sending("x-ms-session-token", "0:-1#999999999"))
        assert read["id"] == "1"


@pytest.mark.parametrize("level", ["Strong", "BoundedStaleness"])
def test_stronger_levels_are_refused(server, database, container, pk, level):
    container.create_item({"id": "1", "pk": pk})
    with CosmosClient(server.endpoint, server.key, consistency_level=level) as stronger:
        seen = stronger.get_database_client(database.id).get_container_client(container.id)
        with failure(400, message="ConsistencyLevel"):
            seen.read_item("1", pk)


def test_write_is_read_by_another_client_with_its_token(server, database, container, pk):
    written = container.create_item({"id": "1", "pk": pk})
    token = written.get_response_headers()["x-ms-session-token"]
    with CosmosClient(server.endpoint, server.key) as other:
        seen = other.get_database_client(database.id).get_container_client(container.id)
        assert seen.read_item("1", pk, session_token=token) == written
