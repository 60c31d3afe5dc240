"""Users, permissions and what a client may do with a resource token."""

import pytest

from conftest import unique
from expect import failure, sending
from tokens import allow, connect


def test_user_life_cycle(database):
    name = unique("user")
    made = database.create_user({"id": name})
    properties = made.read()
    assert properties["id"] == name
    assert properties["_permissions"] == "permissions/"
    assert name in [row["id"] for row in database.list_users()]
    query = "SELECT * FROM r WHERE r.id=@id"
    found = list(database.query_users(query, parameters=[{"name": "@id", "value": name}]))
    assert [row["id"] for row in found] == [name]
    with failure(409):
        database.create_user({"id": name})
    assert database.upsert_user({"id": name}).id == name
    renamed = database.replace_user(name, {"id": name + "-renamed"})
    assert renamed.read()["_rid"] == properties["_rid"]
    with failure(404):
        database.get_user_client(name).read()
    database.delete_user(renamed.id)
    with failure(404):
        database.delete_user(renamed.id)


def test_permission_life_cycle(user, container):
    made = allow(user, "read", container.container_link)
    assert made.properties["permissionMode"] == "read"
    assert made.properties["resource"] == container.container_link
    assert made.properties["_token"].startswith("type=resource&ver=1")
    assert [row["id"] for row in user.list_permissions()] == [made.id]
    query = "SELECT * FROM r WHERE r.id=@id"
    found = list(user.query_permissions(query, parameters=[{"name": "@id", "value": made.id}]))
    assert [row["id"] for row in found] == [made.id]
    replaced = user.replace_permission(
        made.id,
        {"id": made.id, "permissionMode": "all", "resource": container.container_link},
    )
    assert replaced.permission_mode == "all"
    user.delete_permission(made.id)
    with failure(404):
        user.get_permission(made.id)


def test_every_read_mints_a_token(user, container):
    made = allow(user, "Read", container.container_link)
    first = user.get_permission(made.id).properties["_token"]
    second = user.get_permission(made.id).properties["_token"]
    assert first != second


def test_same_resource_twice_conflicts(user, container):
    allow(user, "Read", container.container_link)
    with failure(409):
        allow(user, "All", container.container_link)


def test_upsert_on_a_resource_that_does_not_exist(user):
    resource = "dbs/AQAAAA==/colls/AQAAAIEAAAA=/"
    body = {"id": "p", "permissionMode": "read", "resource": resource}
    assert user.upsert_permission(body).resource_link == resource
    assert user.upsert_permission(dict(body, permissionMode="all")).permission_mode == "all"


def test_container_read_token(server, database, container, user, pk):
    container.create_item({"id": "1", "pk": pk})
    permission = allow(user, "read", container.container_link)
    with connect(server, permission, container.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        assert seen.read()["id"] == container.id
        assert seen.read_item("1", pk)["id"] == "1"
        assert [row["id"] for row in seen.query_items("SELECT * FROM c", partition_key=pk)] == ["1"]
        assert len(list(seen.read_feed_ranges())) == 1
        with failure(403):
            seen.create_item({"id": "2", "pk": pk})
        with failure(403):
            seen.upsert_item({"id": "1", "pk": pk})
        with failure(403):
            seen.delete_item("1", pk)
        with failure(403):
            seen.patch_item("1", pk, [{"op": "set", "path": "/a", "value": 1}])
    assert "a" not in container.read_item("1", pk)


def test_container_all_token(server, database, container, user, pk):
    permission = allow(user, "all", container.container_link)
    with connect(server, permission, container.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        seen.create_item({"id": "1", "pk": pk})
        seen.upsert_item({"id": "1", "pk": pk, "a": 1})
        assert seen.read_item("1", pk)["a"] == 1
        seen.delete_item("1", pk)


def test_token_by_resource_id(server, database, container, user, pk):
    container.create_item({"id": "1", "pk": pk})
    permission = allow(user, "read", container.read()["_self"])
    with connect(server, permission, container.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        assert seen.read_item("1", pk)["id"] == "1"


def test_token_does_not_reach_other_resources(server, database, container, new_container, user):
    other = new_container()
    other.create_item({"id": "1", "pk": "a"})
    permission = allow(user, "all", container.container_link)
    known = (container.container_link, other.container_link, database.database_link)
    with connect(server, permission, *known) as limited:
        seen = limited.get_database_client(database.id)
        with failure(403):
            seen.get_container_client(other.id).read_item("1", "a")
        with failure(403):
            seen.read()
        with failure(403):
            list(seen.list_containers())


def test_document_token(server, database, container, user, pk):
    container.create_item({"id": "mine", "pk": pk})
    container.create_item({"id": "other", "pk": pk})
    link = f"{container.container_link}/docs/mine"
    permission = allow(user, "read", link)
    with connect(server, permission, link, container.container_link) as limited:
        read = limited.client_connection.ReadItem(link, {"partitionKey": pk})
        assert read["id"] == "mine"
        with failure(403):
            other = f"{container.container_link}/docs/other"
            limited.client_connection.ReadItem(other, {"partitionKey": pk})


def test_partition_key_restriction(server, database, container, user):
    mine, other = unique("pk"), unique("pk")
    for key in (mine, other):
        container.create_item({"id": "1", "pk": key})
    permission = allow(user, "all", container.container_link, resourcePartitionKey=[mine])
    assert permission.properties["resourcePartitionKey"] == [mine]
    with connect(server, permission, container.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        assert seen.read_item("1", mine)["id"] == "1"
        with failure(403):
            seen.read_item("1", other)
        with failure(403):
            seen.create_item({"id": "2", "pk": other})


def test_missing_item_is_not_found_rather_than_forbidden(server, database, container, user, pk):
    permission = allow(user, "read", container.container_link)
    with connect(server, permission, container.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        with failure(404):
            seen.read_item("none", pk)


def test_no_or_broken_credentials(container, pk):
    with failure(401):
        container.read_item("1", pk, **sending("authorization", ""))
    forged = "type%3Dresource%26ver%3D1%26sig%3Dzzz"
    with pytest.raises(Exception) as caught:
        container.read_item("1", pk, **sending("authorization", forged))
    assert caught.value.status_code in (401, 403)


def test_deleted_user_takes_permissions_along(database, container):
    made = database.create_user({"id": unique("user")})
    permission = allow(made, "read", container.container_link)
    database.delete_user(made.id)
    with failure(404):
        made.get_permission(permission.id)
