"""Databases: create, read, list, query, delete."""

from azure.cosmos.exceptions import CosmosResourceExistsError, CosmosResourceNotFoundError
import pytest

from conftest import unique
from expect import Hook, charge, failure


def test_create_returns_the_resource(client, new_database):
    name = new_database().id
    properties = client.get_database_client(name).read()
    assert properties["id"] == name
    assert properties["_self"] == f"dbs/{properties['_rid']}/"
    assert properties["_colls"] == "colls/"
    assert properties["_users"] == "users/"
    assert properties["_etag"].startswith('"') and properties["_etag"].endswith('"')
    assert isinstance(properties["_ts"], int)
    assert len(properties["_rid"]) == 8 and properties["_rid"].endswith("==")


def test_create_twice_conflicts(client, new_database):
    name = new_database().id
    with pytest.raises(CosmosResourceExistsError) as caught:
        client.create_database(name)
    assert caught.value.status_code == 409


def test_create_if_not_exists_is_idempotent(client):
    name = unique("db")
    first = client.create_database_if_not_exists(name).read()
    second = client.create_database_if_not_exists(name).read()
    assert first["_rid"] == second["_rid"]
    client.delete_database(name)


def test_list_and_query_find_databases(client, new_database):
    names = {new_database().id for _ in range(3)}
    assert names <= {found["id"] for found in client.list_databases()}
    wanted = min(names)
    query = {
        "query": "SELECT * FROM r WHERE r.id=@id",
        "parameters": [{"name": "@id", "value": wanted}],
    }
    found = list(client.query_databases(query))
    assert [row["id"] for row in found] == [wanted]


def test_list_pages_honour_the_page_size(client, new_database):
    names = {new_database().id for _ in range(3)}
    pages = [list(page) for page in client.list_databases(max_item_count=1).by_page()]
    assert all(len(page) <= 1 for page in pages)
    assert names <= {row["id"] for page in pages for row in page}


def test_query_pages_end_without_an_empty_one(client, new_database):
    names = {new_database().id for _ in range(3)}
    pages = client.query_databases("SELECT * FROM r", max_item_count=1).by_page()
    pages = [[row["id"] for row in page] for page in pages]
    assert [len(page) for page in pages] == [1] * len(list(client.list_databases()))
    assert names <= {name for page in pages for name in page}


def test_delete_then_everything_is_not_found(client, new_database):
    name = new_database().id
    client.delete_database(name)
    for action in (
        lambda: client.get_database_client(name).read(),
        lambda: client.delete_database(name),
    ):
        with pytest.raises(CosmosResourceNotFoundError):
            action()


def test_item_of_a_missing_database_names_the_missing_owner(client):
    missing = client.get_database_client(unique("gone")).get_container_client("c")
    with failure(404):
        missing.read()


@pytest.mark.parametrize("name", ["with space", "colls", "üñî", "a+b", "日本", "d%20b"])
def test_unusual_names(client, name):
    client.create_database(name)
    try:
        assert client.get_database_client(name).read()["id"] == name
    finally:
        client.delete_database(name)


def test_name_longer_than_255_is_refused(client):
    with failure(400, message="255"):
        client.create_database("x" * 256)


def test_charge_and_etag_headers(client, new_database):
    hook = Hook()
    properties = new_database().read(response_hook=hook)
    assert charge(hook.headers) > 0
    assert hook.headers["etag"] == properties["_etag"]


def test_read_with_the_current_etag_is_not_modified(client, new_database):
    made = new_database()
    etag = made.read()["_etag"]
    hook = Hook()
    made.read(if_none_match=etag, response_hook=hook)
    assert hook.calls[-1][1] in (None, {})


def test_delete_with_a_stale_etag_fails(client, new_database):
    name = new_database().id
    with failure(412):
        client.delete_database(name, if_match='"stale"')
    assert client.get_database_client(name).read()["id"] == name
