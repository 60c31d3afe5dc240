"""A server killed without warning comes back with everything it had acknowledged."""

import subprocess

from azure.cosmos import CosmosClient, PartitionKey

import orrery_server
from expect import failure


def fill(client):
    database = client.create_database("db", offer_throughput=1000)
    plain = database.create_container("plain", PartitionKey("/pk"), offer_throughput=600)
    database.create_container(
        "policies",
        PartitionKey(["/a", "/b"], kind="MultiHash"),
        default_ttl=1000,
        unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]},
        indexing_policy={"includedPaths": [{"path": "/x/?"}], "excludedPaths": [{"path": "/*"}]},
    ).create_item({"id": "1", "a": "x", "b": "y", "u": 1})
    items = [plain.create_item({"id": str(n), "pk": f"k{n % 7}", "n": n}) for n in range(50)]
    items[1] = plain.replace_item("1", {"id": "1", "pk": "k1", "n": 100})
    items[2] = plain.patch_item("2", "k2", [{"op": "incr", "path": "/n", "value": 100}])
    plain.delete_item("0", "k0")
    plain.execute_item_batch(
        [("create", ({"id": "b1", "pk": "k"},)), ("create", ({"id": "b2", "pk": "k"},))], "k"
    )
    database.create_user({"id": "user"}).create_permission(
        {"id": "may", "permissionMode": "read", "resource": plain.container_link}
    )
    return items[1:]


def check(client, items):
    database = client.get_database_client("db")
    assert database.get_throughput().offer_throughput == 1000
    plain = database.get_container_client("plain")
    assert plain.get_throughput().offer_throughput == 600
    for item in items:
        assert plain.read_item(item["id"], item["pk"]) == item
    with failure(404):
        plain.read_item("0", "k0")
    expected = {item["id"] for item in items} | {"b1", "b2"}
    assert {row["id"] for row in plain.read_all_items()} == expected
    found = plain.query_items("SELECT * FROM c WHERE c.n = 100", enable_cross_partition_query=True)
    assert [row["id"] for row in found] == ["1"]
    policies = database.get_container_client("policies")
    properties = policies.read()
    assert properties["defaultTtl"] == 1000
    assert properties["partitionKey"]["paths"] == ["/a", "/b"]
    assert properties["indexingPolicy"]["includedPaths"] == [{"path": "/x/?"}]
    with failure(409):
        policies.create_item({"id": "2", "a": "x", "b": "y", "u": 1})
    permission = database.get_user_client("user").get_permission("may")
    assert permission.permission_mode == "read"
    return plain


def session(result):
    return int(result.get_response_headers()["x-ms-session-token"].split("#")[-1])


def test_everything_survives_kill_and_restart(tmp_path):
    data = tmp_path / "data"
    server = orrery_server.start(data=data)
    with CosmosClient(server.endpoint, server.key) as client:
        items = fill(client)
        plain = client.get_database_client("db").get_container_client("plain")
        items[0] = plain.upsert_item({"id": "1", "pk": "k1", "n": 100, "last": True})
        last = session(items[0])
    server.kill()

    server = orrery_server.start(data=data)
    with CosmosClient(server.endpoint, server.key) as client:
        plain = check(client, items)
        written = plain.create_item({"id": "after", "pk": "k"})
        assert session(written) > last
        rids = {item["_rid"] for item in items}
        assert written["_rid"] not in rids
        assert client.create_database("another").read()["_rid"]
    server.stop()

    server = orrery_server.start(data=data)
    with CosmosClient(server.endpoint, server.key) as client:
        plain = client.get_database_client("db").get_container_client("plain")
        assert plain.read_item("after", "k")["id"] == "after"
        plain.delete_item("after", "k")
        check(client, items)
    server.stop()


def test_deleted_container_stays_deleted(tmp_path):
    server = orrery_server.start(data=tmp_path)
    with CosmosClient(server.endpoint, server.key) as client:
        database = client.create_database("db")
        old = database.create_container("c", PartitionKey("/pk"))
        old.create_item({"id": "1", "pk": "a"})
        old_rid = old.read()["_rid"]
        database.delete_container("c")
    server.kill()

    server = orrery_server.start(data=tmp_path)
    with CosmosClient(server.endpoint, server.key) as client:
        database = client.get_database_client("db")
        assert list(database.list_containers()) == []
        new = database.create_container("c", PartitionKey("/pk"))
        assert new.read()["_rid"] != old_rid
        assert list(new.read_all_items()) == []
    server.stop()


def test_two_servers_do_not_share_a_directory(tmp_path):
    server = orrery_server.start(data=tmp_path)
    try:
        second = subprocess.run(
            [orrery_server.binary(), "serve", "--listen", "127.0.0.1:0", "--tls", "off"]
            + ["--data", str(tmp_path), "--ready-json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
        assert second.returncode != 0
        assert second.stdout == b""
    finally:
        server.stop()
