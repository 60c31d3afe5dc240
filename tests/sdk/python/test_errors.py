"""Errors have a code, a message and the headers a support case needs."""

import pytest

from expect import Hook, failure, sending

ACTIVITY = "11111111-2222-3333-4444-555555555555"


def test_not_found(container, pk):
    with failure(404, sub_status=0) as caught:
        container.read_item("none", pk)
    error = caught.value
    assert str(error).startswith("(NotFound) ")
    assert error.headers["x-ms-activity-id"]
    assert "etag" not in error.headers


def test_conflict(container, pk):
    container.create_item({"id": "1", "pk": pk})
    with failure(409) as caught:
        container.create_item({"id": "1", "pk": pk})
    assert str(caught.value).startswith("(Conflict) ")
    assert "already exists" in str(caught.value)


def test_bad_request(container, pk):
    with failure(400) as caught:
        container.create_item({"pk": pk})
    assert str(caught.value).startswith("(BadRequest) ")


def test_missing_container_behind_an_item(database, pk):
    with failure(404):
        database.get_container_client("not-there").read_item("1", pk)


def test_activity_id_is_echoed(container, pk):
    hook = Hook()
    item = {"id": "1", "pk": pk}
    container.create_item(item, response_hook=hook, **sending("x-ms-activity-id", ACTIVITY))
    assert hook.headers["x-ms-activity-id"] == ACTIVITY
    with failure(409) as caught:
        container.create_item(item, **sending("x-ms-activity-id", ACTIVITY))
    assert caught.value.headers["x-ms-activity-id"] == ACTIVITY


@pytest.mark.parametrize(
    "body", ["{", "[1]", "1", '"x"', "null", '{"id":"1","pk":NaN}', '{"id":"1"']
)
def test_malformed_bodies(container, body):
    def replace_body(request):
        request.http_request.set_bytes_body(body.encode())
        request.http_request.headers["Content-Length"] = str(len(body.encode()))

    with failure(400):
        container.create_item({"id": "1", "pk": "a"}, raw_request_hook=replace_body)
