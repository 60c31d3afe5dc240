"""Items: the five verbs and the properties the server adds."""

import base64
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.cosmos import CosmosClient
from azure.cosmos.exceptions import CosmosResourceExistsError, CosmosResourceNotFoundError

from conftest import unique
from expect import MESSAGE_MISMATCHED_KEY, Hook, failure, sending, without_system


def test_create_adds_system_properties(container, pk):
    before = int(time.time()) - 1
    item = container.create_item({"id": "1", "pk": pk, "a": 2})
    assert without_system(item) == {"id": "1", "pk": pk, "a": 2}
    owner = container.read()
    assert item["_self"] == f"{owner['_self']}docs/{item['_rid']}/"
    assert item["_attachments"] == "attachments/"
    assert before <= item["_ts"] <= time.time() + 1
    assert item["_etag"].startswith('"') and item["_etag"].endswith('"')
    assert set(item) == {"id", "pk", "a", "_rid", "_self", "_etag", "_attachments", "_ts"}


def test_etag_header_equals_the_property(container, pk):
    item = container.create_item({"id": "1", "pk": pk})
    assert item.get_response_headers()["etag"] == item["_etag"]
    read = container.read_item("1", pk)
    assert read.get_response_headers()["etag"] == read["_etag"] == item["_etag"]


def test_read_returns_what_was_written(container, pk):
    item = {
        "id": "1",
        "pk": pk,
        "string": 'þ\u2028"\\/\b\f\n\r\t\u0001 😀',
        "numbers": [0, -1, 1.5, 1e21, 9007199254740991, -9007199254740991, 1e-7, 0.1],
        "nothing": None,
        "flags": [True, False],
        "nested": {"b": {"c": [{}, [], ""]}},
        "": "empty name",
        "with space": 1,
        "a.b": 2,
    }
    container.create_item(item)
    read = without_system(container.read_item("1", pk))
    assert read == item
    assert list(read) == list(item)


def test_resource_ids_grow_with_creation(container, pk):
    def counter(item):
        raw = base64.b64decode(item["_rid"].replace("-", "/"))
        assert len(raw) == 16
        return int.from_bytes(raw[8:], "little")

    made = [container.create_item({"id": str(n), "pk": pk}) for n in range(5)]
    counters = [counter(item) for item in made]
    assert counters == sorted(counters) and len(set(counters)) == 5


def test_incoming_system_properties_are_replaced(container, pk):
    forged = {"_etag": "mine", "_ts": 1, "_rid": "x", "_self": "y"}
    item = container.create_item({"id": "1", "pk": pk, **forged})
    assert item["_etag"] != "mine" and item["_ts"] > 1
    assert item["_rid"] != "x" and item["_self"] != "y"


def test_create_twice_conflicts(container, pk):
    container.create_item({"id": "1", "pk": pk})
    with pytest.raises(CosmosResourceExistsError) as caught:
        container.create_item({"id": "1", "pk": pk})
    assert caught.value.status_code == 409


def test_ids_are_unique_per_partition_key_only(container):
    first, second = unique("pk"), unique("pk")
    for value in (first, second):
        container.create_item({"id": "1", "pk": value, "mine": value})
    for value in (first, second):
        assert container.read_item("1", value)["mine"] == value


def test_upsert_creates_then_replaces(container, pk):
    hook = Hook()
    created = container.upsert_item({"id": "1", "pk": pk, "a": 1}, response_hook=hook)
    replaced = container.upsert_item({"id": "1", "pk": pk, "b": 2}, response_hook=hook)
    assert without_system(replaced) == {"id": "1", "pk": pk, "b": 2}
    assert replaced["_rid"] == created["_rid"]
    assert replaced["_etag"] != created["_etag"]


def test_replace_keeps_identity(container, pk):
    item = container.create_item({"id": "1", "pk": pk, "a": 1})
    replaced = container.replace_item("1", {"id": "1", "pk": pk, "a": 2})
    assert replaced["_rid"] == item["_rid"] and replaced["_self"] == item["_self"]
    assert replaced["_etag"] != item["_etag"] and replaced["_ts"] >= item["_ts"]
    assert container.read_item("1", pk)["a"] == 2


def test_items_are_addressable_by_their_self_link(container, pk):
    item = container.create_item({"id": "1", "pk": pk, "a": 1})
    assert container.read_item(item, pk) == item
    replaced = container.replace_item(item, dict(item, a=2))
    assert replaced["a"] == 2
    container.delete_item(replaced, pk)
    with failure(404):
        container.read_item("1", pk)


def test_replace_of_a_missing_item(container, pk):
    with pytest.raises(CosmosResourceNotFoundError):
        container.replace_item("1", {"id": "1", "pk": pk})


def test_delete(container, pk):
    container.create_item({"id": "1", "pk": pk})
    container.delete_item("1", pk)
    for action in (container.read_item, container.delete_item):
        with failure(404, sub_status=0):
            action("1", pk)
    container.create_item({"id": "1", "pk": pk})


def test_wrong_partition_key_finds_nothing(container, pk):
    container.create_item({"id": "1", "pk": pk})
    for action in (container.read_item, container.delete_item):
        with failure(404, sub_status=0):
            action("1", "elsewhere")


def test_id_is_generated_on_request(container, pk):
    item = container.create_item({"pk": pk}, enable_automatic_id_generation=True)
    assert len(item["id"]) == 36
    assert container.read_item(item["id"], pk) == item


def test_missing_id_is_refused(container, pk):
    message = "The input content is invalid because the required properties - 'id; ' - are missing"
    with failure(400, message=message):
        container.create_item({"pk": pk})


@pytest.mark.parametrize("identity", [1, None, True, {}, ["1"]])
def test_id_must_be_text(container, pk, identity):
    with pytest.raises(Exception):
        container.create_item({"id": identity, "pk": pk})


def test_key_header_and_body_must_agree(container, pk):
    container.create_item({"id": "1", "pk": pk})
    other = sending("x-ms-documentdb-partitionkey", '["other"]')
    with failure(400, sub_status=1001, message=MESSAGE_MISMATCHED_KEY):
        container.create_item({"id": "2", "pk": pk}, **other)
    with failure(400, sub_status=1001, message=MESSAGE_MISMATCHED_KEY):
        container.upsert_item({"id": "1", "pk": pk}, **other)


def test_replace_cannot_move_an_item_to_another_key(container, pk):
    container.create_item({"id": "1", "pk": pk})
    with failure(404):
        container.replace_item("1", {"id": "1", "pk": unique("pk")})


@pytest.mark.parametrize("write", ["create_item", "upsert_item"])
def test_no_response_leaves_the_body_out(container, pk, write):
    result = getattr(container, write)({"id": "1", "pk": pk, "a": 1}, no_response=True)
    assert result == {}
    headers = result.get_response_headers()
    assert headers["etag"] == container.read_item("1", pk)["_etag"]
    assert float(headers["x-ms-request-charge"]) > 0
    assert headers["x-ms-session-token"]


def test_no_response_on_replace_and_patch(container, pk):
    container.create_item({"id": "1", "pk": pk, "a": 1})
    assert container.replace_item("1", {"id": "1", "pk": pk, "a": 2}, no_response=True) == {}
    operations = [{"op": "incr", "path": "/a", "value": 1}]
    assert container.patch_item("1", pk, operations, no_response=True) == {}
    assert container.read_item("1", pk)["a"] == 3


def test_no_response_as_client_default(server, database, container, pk):
    with CosmosClient(server.endpoint, server.key, no_response_on_write=True) as quiet:
        quiet_container = quiet.get_database_client(database.id).get_container_client(container.id)
        assert quiet_container.create_item({"id": "1", "pk": pk}) == {}
        assert quiet_container.upsert_item({"id": "1", "pk": pk}, no_response=False)["id"] == "1"


def test_answers_name_the_place_of_the_item(container, pk):
    hook = Hook()
    item = container.create_item({"id": "1", "pk": pk}, response_hook=hook)
    container.read_item("1", pk, response_hook=hook)
    for headers, _ in hook.calls:
        assert headers["content-location"].endswith(f"/{container.container_link}/docs/{item['id']}")


def test_indexing_directive_is_accepted(container, pk):
    container.create_item({"id": "1", "pk": pk}, indexing_directive="Exclude")
    assert container.read_item("1", pk)["id"] == "1"


@pytest.mark.parametrize(
    "name, value",
    [
        ("x-ms-indexing-directive", "Perhaps"),
        ("x-ms-cosmos-priority-level", "Medium"),
        ("x-ms-consistency-level", "Wishful"),
        ("x-ms-version", "1999-01-01"),
        ("x-ms-cosmos-throughput-bucket", "9"),
    ],
)
def test_impossible_header_values_are_refused(container, pk, name, value):
    with failure(400):
        container.create_item({"id": "1", "pk": pk}, **sending(name, value))


def test_many_clients_at_once(container, pk):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: container.create_item({"id": str(n), "pk": pk}), range(64)))
    assert len({item["_etag"] for item in made}) == 64
    assert len({item["_rid"] for item in made}) == 64
