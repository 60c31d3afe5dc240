"""Answers as Microsoft's own SDK tests expect them, which no other topic has."""

import json

import pytest
from azure.cosmos import PartitionKey

from conftest import unique
from expect import Hook, failure, sending
from tokens import allow, connect

ACTIVITY = "11111111-2222-3333-4444-555555555555"


def test_a_token_of_an_item_reads_its_container_and_ranges(server, database, container, user, pk):
    item = container.create_item({"id": "1", "pk": pk})
    permission = allow(user, "Read", item["_self"])
    with connect(server, permission, container.container_link) as limited:
        seen = limited.get_database_client(database.id).get_container_client(container.id)
        assert seen.read()["id"] == container.id
        assert list(seen.read_feed_ranges())
        assert seen.read_item("1", pk) == item
        with failure(403):
            seen.upsert_item({"id": "1", "pk": pk})


def test_an_empty_consistency_level_is_none(container, pk):
    item = container.create_item({"id": "1", "pk": pk})
    empty = sending("x-ms-consistency-level", "")
    assert container.read_item("1", pk, **empty) == item
    with failure(400):
        container.read_item("1", pk, **sending("x-ms-consistency-level", "Whatever"))


def test_of_a_doubled_activity_id_one_comes_back(container, pk):
    hook = Hook()
    item = {"id": "1", "pk": pk}
    doubled = sending("x-ms-activity-id", f"{ACTIVITY}, {ACTIVITY}")
    container.create_item(item, response_hook=hook, **doubled)
    assert hook.headers["x-ms-activity-id"] == ACTIVITY


def test_a_level_and_a_strategy_may_come_together(container, pk):
    item = container.create_item({"id": "1", "pk": pk})

    def both(request):
        request.http_request.headers["x-ms-consistency-level"] = "Eventual"
        request.http_request.headers["x-ms-cosmos-read-consistency-strategy"] = "LatestCommitted"

    assert container.read_item("1", pk, raw_request_hook=both) == item


def test_an_unchanged_read_does_not_abort_its_batch(container, pk):
    item = container.create_item({"id": "1", "pk": pk})
    results = container.execute_item_batch(
        [
            ("read", ("1",), {"if_none_match_etag": item["_etag"]}),
            ("create", ({"id": "2", "pk": pk},)),
        ],
        pk,
    )
    assert [row["statusCode"] for row in results] == [304, 201]
    assert container.read_item("2", pk)["id"] == "2"


def test_a_replace_under_another_key_finds_no_item(container, pk):
    container.create_item({"id": "1", "pk": pk})
    elsewhere = sending("x-ms-documentdb-partitionkey", '["elsewhere"]')
    with failure(404):
        container.replace_item("1", {"id": "1", "pk": pk}, **elsewhere)
    # With such an item the keys contradict each other.
    container.upsert_item({"id": "1", "pk": "elsewhere"})
    with failure(400, sub_status=1001):
        container.replace_item("1", {"id": "1", "pk": pk}, **elsewhere)
    container.delete_item("1", "elsewhere")


def test_an_id_with_a_bare_question_mark(container, pk):
    # The client creates no such item by itself, and escapes the id of one that it reads.
    container.execute_item_batch([("create", ({"id": "a?b", "pk": pk},))], pk)
    item = container.read_item("a?b", pk)
    assert item["id"] == "a?b"

    urls = []

    def unescaped(request):
        request.http_request.url = request.http_request.url.replace("%3F", "?")
        urls.append(request.http_request.url)

    assert container.read_item("a?b", pk, raw_request_hook=unescaped) == item
    assert urls[-1].endswith("/docs/a?b/")


def test_raw_control_characters_in_bodies_and_literals(container, pk):
    text = "a\tb\nc\x01"

    def raw(request):
        body = json.dumps({"id": "1", "pk": pk, "t": "MARK"}).replace("MARK", text)
        request.http_request.set_bytes_body(body.encode())

    container.create_item({"id": "1", "pk": pk}, raw_request_hook=raw)
    assert container.read_item("1", pk)["t"] == text
    found = container.query_items(f"SELECT VALUE c.id FROM c WHERE c.t = '{text}'", partition_key=pk)
    assert list(found) == ["1"]


def test_a_container_tells_that_it_shares_throughput(new_database):
    shared = new_database(offer_throughput=1000)
    hook = Hook()
    shared.create_container("c", PartitionKey("/pk"), response_hook=hook)
    assert hook.headers["x-ms-share-throughput"].lower() == "true"
    own = Hook()
    shared.create_container("d", PartitionKey("/pk"), offer_throughput=400, response_hook=own)
    assert "x-ms-share-throughput" not in own.headers


SCRIPTS = {
    "triggers": {"id": "t", "body": "function () {}", "triggerType": "Pre", "triggerOperation": "All"},
    "functions": {"id": "f", "body": "function () { return 1; }"},
}


def test_items_triggers_and_functions_tell_their_quota(new_container):
    made = new_container()
    hook = Hook()
    made.create_item({"id": "1", "pk": "a"}, response_hook=hook)
    assert "documentSize=" in hook.headers["x-ms-resource-usage"]
    assert "documentSize=" in hook.headers["x-ms-resource-quota"]
    made.scripts.create_trigger(SCRIPTS["triggers"], response_hook=hook)
    assert "triggers=1;" in hook.headers["x-ms-resource-usage"]
    assert "triggers=25;" in hook.headers["x-ms-resource-quota"]
    made.scripts.create_user_defined_function(SCRIPTS["functions"], response_hook=hook)
    assert "functions=1;" in hook.headers["x-ms-resource-usage"]
    assert "functions=50;" in hook.headers["x-ms-resource-quota"]


def test_a_position_wins_over_a_time(container, pk):
    hook = Hook()
    container.create_item({"id": "1", "pk": pk})
    options = {"partition_key": pk, "response_hook": hook}
    assert len(list(container.query_items_change_feed(start_time="Beginning", **options))) == 1
    container.create_item({"id": "2", "pk": pk})
    position = hook.headers["etag"]

    def both(request):
        request.http_request.headers["If-None-Match"] = position
        request.http_request.headers["If-Modified-Since"] = "Wed, 01 Jan 2020 00:00:00 GMT"

    options = {"partition_key": pk, "start_time": "Beginning", "raw_request_hook": both}
    first = next(container.query_items_change_feed(**options).by_page())
    assert [item["id"] for item in first] == ["2"]


def test_a_query_without_from_needs_no_header(wide_container):
    def without(request):
        request.http_request.headers.pop("x-ms-documentdb-query-enablecrosspartition", None)

    assert list(wide_container.query_items("SELECT VALUE 1 + 1", raw_request_hook=without)) == [2]
    with failure(400):
        list(wide_container.query_items("SELECT * FROM c", raw_request_hook=without))


def test_an_unknown_function_over_no_rows_is_no_error(container, pk):
    query = "SELECT VALUE udf.missing(c.n) FROM c WHERE c.id = 'x'"
    assert list(container.query_items(query, partition_key=pk)) == []
    container.create_item({"id": "x", "pk": pk})
    with failure(400):
        list(container.query_items(query, partition_key=pk))


def test_a_procedure_takes_an_object_and_echo_is_there(container, pk):
    echo = container.scripts.execute_stored_procedure("__.sys.echo", pk, ["so"])
    assert echo == "so"

    def arguments(request):
        request.http_request.set_bytes_body(b'{"0": "a", "1": "b", "length": 2}')

    body = "function (one, two) { getContext().getResponse().setBody(one + two); }"
    container.scripts.create_stored_procedure({"id": pk, "body": body})
    run = container.scripts.execute_stored_procedure
    assert run(pk, pk, ["x"], raw_request_hook=arguments) == "ab"


def test_the_path_of_what_is_not_there_is_left_out(container, pk):
    hook = Hook()
    container.create_item({"id": "1", "pk": pk}, response_hook=hook)
    assert "x-ms-content-path" in hook.headers
    with failure(404) as missing:
        container.read_item("none", pk)
    assert "x-ms-content-path" not in missing.value.headers
    assert missing.value.headers["x-ms-alt-content-path"] == container.container_link


def test_an_item_without_its_links(container, pk):
    excluded = sending("x-ms-exclude-system-properties", "True")
    created = container.create_item({"id": "1", "pk": pk}, **excluded)
    assert "_self" not in created and "_attachments" not in created
    assert container.read_item("1", pk, **excluded) == created
    whole = container.read_item("1", pk)
    assert whole["_self"] and whole["_attachments"] == "attachments/"
    assert {**whole, **created} == whole
    # Of an item that was written with them every reader gets them.
    plain = container.create_item({"id": "2", "pk": pk})
    assert container.read_item("2", pk, **excluded) == plain


def test_an_offer_is_replaced_without_its_id(client, new_container):
    made = new_container(offer_throughput=400)
    offer = next(
        row
        for row in client.client_connection.QueryOffers("SELECT * FROM root r")
        if row["resource"] == made.read()["_self"]
    )
    body = {name: value for name, value in offer.items() if name != "id"}
    body["content"] = {**offer["content"], "offerThroughput": 500}

    def without_id(request):
        request.http_request.set_bytes_body(json.dumps(body).encode())

    client.client_connection.ReplaceOffer(offer["_self"], offer, raw_request_hook=without_id)
    assert made.get_throughput().offer_throughput == 500


@pytest.mark.parametrize("version", ["2018-06-18", "2018-09-17"])
def test_old_versions_make_containers_without_a_key(database, version):
    """The client writes a key into every body, so this one is written by hand."""
    name = unique("keyless")

    def old(request):
        request.http_request.headers["x-ms-version"] = version
        if request.http_request.method == "POST" and request.http_request.url.endswith("/colls/"):
            request.http_request.set_bytes_body(json.dumps({"id": name}).encode())

    made = database.create_container(name, PartitionKey("/pk"), raw_request_hook=old)
    try:
        key = made.read()["partitionKey"]
        assert (key["paths"], key["systemKey"]) == (["/_partitionKey"], True)
        fresh = database.get_container_client(name)
        item = fresh.create_item({"id": "1", "n": 1})
        assert [row["id"] for row in fresh.read_all_items()] == [item["id"]]
        with failure(400):
            database.create_container(
                unique("refused"),
                PartitionKey("/pk"),
                raw_request_hook=lambda request: request.http_request.set_bytes_body(
                    json.dumps({"id": unique("refused")}).encode()
                ),
            )
    finally:
        database.delete_container(name)


def test_an_etag_ends_a_query_of_the_change_feed(container, pk):
    """A change feed with a query has an etag, from which it goes on."""
    container.create_item({"id": "1", "pk": pk, "n": 1})
    hook = Hook()

    def as_feed(position):
        def change(request):
            headers = request.http_request.headers
            headers["A-IM"] = "Incremental feed"
            if position:
                headers["If-None-Match"] = position

        return change

    query = "SELECT VALUE c.n FROM c"
    options = {"partition_key": pk, "response_hook": hook}
    first = container.query_items(query, raw_request_hook=as_feed(None), **options)
    assert list(next(first.by_page())) == [1]
    position = hook.headers["etag"]
    container.create_item({"id": "2", "pk": pk, "n": 2})
    then = container.query_items(query, raw_request_hook=as_feed(position), **options)
    assert list(next(then.by_page())) == [2]
