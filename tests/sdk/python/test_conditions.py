"""Optimistic concurrency: If-Match and If-None-Match both ways."""

import pytest
from azure.core import MatchConditions
from azure.cosmos.exceptions import CosmosAccessConditionFailedError

from expect import Hook, failure

STALE = '"00000000-0000-0000-0000-000000000000"'


@pytest.fixture
def item(container, pk):
    return container.create_item({"id": "1", "pk": pk, "n": 0})


def writes(container, pk, **options):
    """Each conditional write, as something to call."""
    increment = [{"op": "incr", "path": "/n", "value": 1}]
    return {
        "upsert": lambda: container.upsert_item({"id": "1", "pk": pk, "n": 1}, **options),
        "replace": lambda: container.replace_item("1", {"id": "1", "pk": pk, "n": 1}, **options),
        "patch": lambda: container.patch_item("1", pk, increment, **options),
        "delete": lambda: container.delete_item("1", pk, **options),
    }


WRITES = ["upsert", "replace", "patch", "delete"]


@pytest.mark.parametrize("write", WRITES)
def test_matching_etag_passes(container, pk, item, write):
    options = {"etag": item["_etag"], "match_condition": MatchConditions.IfNotModified}
    writes(container, pk, **options)[write]()


@pytest.mark.parametrize("write", WRITES)
def test_stale_etag_fails_and_changes_nothing(container, pk, item, write):
    options = {"etag": STALE, "match_condition": MatchConditions.IfNotModified}
    with pytest.raises(CosmosAccessConditionFailedError) as caught:
        writes(container, pk, **options)[write]()
    assert caught.value.status_code == 412
    assert container.read_item("1", pk) == item


@pytest.mark.parametrize("write", WRITES)
def test_an_etag_is_used_up_by_a_write(container, pk, item, write):
    container.replace_item("1", {"id": "1", "pk": pk, "n": 5})
    options = {"etag": item["_etag"], "match_condition": MatchConditions.IfNotModified}
    with failure(412):
        writes(container, pk, **options)[write]()
    assert container.read_item("1", pk)["n"] == 5


@pytest.mark.parametrize("write", ["replace", "patch", "delete"])
def test_star_means_present(container, pk, item, write):
    writes(container, pk, match_condition=MatchConditions.IfPresent)[write]()


def test_if_match_is_ignored_by_an_upsert_that_creates(container, pk):
    options = {"etag": STALE, "match_condition": MatchConditions.IfNotModified}
    assert container.upsert_item({"id": "new", "pk": pk}, **options)["id"] == "new"


def test_upsert_only_if_missing(container, pk):
    options = {"match_condition": MatchConditions.IfMissing}
    assert container.upsert_item({"id": "once", "pk": pk}, **options)["id"] == "once"
    with failure(412):
        container.upsert_item({"id": "once", "pk": pk}, **options)


@pytest.mark.parametrize("write", ["replace", "patch", "delete"])
def test_write_if_modified_since_an_etag(container, pk, item, write):
    options = {"etag": item["_etag"], "match_condition": MatchConditions.IfModified}
    with failure(412):
        writes(container, pk, **options)[write]()
    options["etag"] = STALE
    writes(container, pk, **options)[write]()


def test_read_of_an_unchanged_item_is_empty(container, pk, item):
    hook = Hook()
    read = container.read_item(
        "1",
        pk,
        etag=item["_etag"],
        match_condition=MatchConditions.IfModified,
        response_hook=hook,
    )
    assert read == {}
    assert hook.headers["etag"] == item["_etag"]
    assert float(hook.headers["x-ms-request-charge"]) == 1.0


def test_read_of_a_changed_item(container, pk, item):
    container.replace_item("1", {"id": "1", "pk": pk, "n": 1})
    read = container.read_item(
        "1", pk, etag=item["_etag"], match_condition=MatchConditions.IfModified
    )
    assert read["n"] == 1


def test_etag_without_its_quotes_does_not_match(container, pk, item):
    options = {
        "etag": item["_etag"].strip('"'),
        "match_condition": MatchConditions.IfNotModified,
    }
    with failure(412):
        container.replace_item("1", {"id": "1", "pk": pk}, **options)


def test_failed_condition_reports_its_words(container, pk, item):
    options = {"etag": STALE, "match_condition": MatchConditions.IfNotModified}
    with failure(412, message="(PreconditionFailed)") as caught:
        container.replace_item("1", {"id": "1", "pk": pk}, **options)
    assert "pre" in str(caught.value) and "condition" in str(caught.value)
    assert caught.value.headers["x-ms-session-token"]


def test_condition_on_a_missing_item_is_not_found(container, pk):
    options = {"etag": STALE, "match_condition": MatchConditions.IfNotModified}
    for write in ("replace", "patch", "delete"):
        with failure(404):
            writes(container, pk, **options)[write]()
