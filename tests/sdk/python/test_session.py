"""Session tokens: on every answer, growing with writes, enforced on reads."""

import itertools
import re

import pytest
from azure.cosmos import CosmosClient, PartitionKey

import orrery_server
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


def test_an_answer_of_several_ranges_leaves_a_session_that_reads_all_of_them(server, wide_container):
    """The client keeps every part of such a token, and each part is a position of its own range."""
    hook = Hook()
    with CosmosClient(server.endpoint, server.key) as fresh:
        name = wide_container.container_link.split("/")
        container = fresh.get_database_client(name[1]).get_container_client(name[3])
        query = "SELECT * FROM c"
        rows = list(container.query_items(query, response_hook=hook, enable_cross_partition_query=True))
        parts = hook.headers["x-ms-session-token"].split(",")
        assert all(TOKEN.match(part) for part in parts), parts
        for row in rows[::9]:
            assert container.read_item(row["id"], row["pk"])["n"] == row["n"]


def test_the_making_of_a_container_takes_the_first_lsn():
    # In an account in which no container was ever deleted.
    started = orrery_server.start()
    try:
        with CosmosClient(started.endpoint, started.key) as client:
            made = client.create_database("db").create_container("c", PartitionKey("/pk"))
            hook = Hook()
            made.create_item({"id": "1", "pk": "a"}, response_hook=hook)
            assert lsn(hook.headers) == 2
            (change,) = made.query_items_change_feed(start_time="Beginning")
            assert change["_lsn"] == 2
    finally:
        started.stop()


def test_a_token_of_a_container_that_was_made_again_passes(database, new_container):
    for _ in range(3):
        made = new_container()
        for n in range(20):
            made.upsert_item({"id": "1", "pk": "a", "n": n})
        hook = Hook()
        made.read_item("1", "a", response_hook=hook)
        token = hook.headers["x-ms-session-token"]
        database.delete_container(made.id)
        again = database.create_container(made.id, PartitionKey("/pk"))
        with failure(404) as missing:
            again.read_item("1", "a", session_token=token)
        assert missing.value.sub_status is None
        item = again.create_item({"id": "1", "pk": "a"})
        assert again.read_item("1", "a", session_token=token) == item
        database.delete_container(made.id)


def test_a_token_that_ends_in_a_comma_passes(container, pk):
    hook = Hook()
    item = container.create_item({"id": "1", "pk": pk}, response_hook=hook)
    token = hook.headers["x-ms-session-token"]
    assert container.read_item("1", pk, session_token=f"{token},") == item


@pytest.fixture
def uneven(new_container):
    """Three ranges whose positions are far apart, and the position of each."""
    made = new_container(offer_throughput=18000)
    keys = {}
    hook = Hook()
    for n in itertools.count():
        made.upsert_item({"id": "1", "pk": f"k{n}", "n": 0}, response_hook=hook)
        keys.setdefault(hook.headers["x-ms-documentdb-partitionkeyrangeid"], []).append(f"k{n}")
        if len(keys) == 3 and n >= 8:
            break
    positions = {}
    for writes, (part, names) in zip((60, 20, 1), sorted(keys.items())):
        for n in range(writes):
            made.upsert_item({"id": "1", "pk": names[0], "n": n}, response_hook=hook)
        positions[part] = lsn(hook.headers)
    return made, [name for names in keys.values() for name in names], positions


def whole_container(container, way, hook):
    """Reads everything in one of the ways whose pages may come from several ranges."""
    if way == "query":
        options = {"enable_cross_partition_query": True, "response_hook": hook}
        return list(container.query_items("SELECT * FROM c", **options))
    if way == "count":
        options = {"enable_cross_partition_query": True, "response_hook": hook}
        return list(container.query_items("SELECT VALUE COUNT(1) FROM c", **options))
    if way == "order":
        options = {"enable_cross_partition_query": True, "response_hook": hook}
        return list(container.query_items("SELECT * FROM c ORDER BY c.n", **options))
    if way == "feed":
        return list(container.read_all_items(max_item_count=4, **hook.raw()))
    return list(container.query_items_change_feed(start_time="Beginning", response_hook=hook))


@pytest.mark.parametrize("way", ["query", "count", "order", "feed", "changes"])
def test_every_part_of_a_token_is_the_position_of_its_range(server, uneven, way):
    """A client that took a position for one of another range would read 404/1002 from then on, and
    one that were told of some ranges only could see older items of the others."""
    made, keys, positions = uneven
    hook = Hook()
    # Without endpoint discovery the SDK does not try again with the token dropped.
    with CosmosClient(server.endpoint, server.key, enable_endpoint_discovery=False) as fresh:
        name = made.container_link.split("/")
        container = fresh.get_database_client(name[1]).get_container_client(name[3])
        whole_container(container, way, hook)
        told = {}
        for headers, _ in hook.calls:
            for part in headers["x-ms-session-token"].split(","):
                assert TOKEN.match(part), headers["x-ms-session-token"]
                told[part.split(":")[0]] = int(part.split("#")[1])
        assert told == positions
        for key in keys:
            read = Hook()
            container.read_item("1", key, response_hook=read)
            part = read.headers["x-ms-session-token"].split(":")[0]
            assert lsn(read.headers) == positions[part]


MALFORMED = ["0:what#ever", "nonsense", "0:-1#x"]


@pytest.mark.parametrize("token", MALFORMED)
def test_malformed_token_refuses_every_write(container, pk, token):
    item = container.create_item({"id": "1", "pk": pk, "n": 0})
    wrong = sending("x-ms-session-token", token)
    text = f"The session token provided '{token}' is invalid."
    patch = [{"op": "incr", "path": "/n", "value": 1}]
    for write in (
        lambda: container.create_item({"id": "2", "pk": pk}, **wrong),
        lambda: container.upsert_item({"id": "1", "pk": pk}, **wrong),
        lambda: container.replace_item("1", {"id": "1", "pk": pk}, **wrong),
        lambda: container.patch_item("1", pk, patch, **wrong),
        lambda: container.delete_item("1", pk, **wrong),
        lambda: container.execute_item_batch([("create", ({"id": "2", "pk": pk},))], pk, **wrong),
    ):
        with failure(400, message=text):
            write()
    assert list(container.query_items("SELECT * FROM c", partition_key=pk)) == [item]
