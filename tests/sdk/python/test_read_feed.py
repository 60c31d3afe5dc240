"""The read feed: every item once, whatever the page size and the number of partitions."""

import pytest

from expect import Hook, charge, failure, sending
from mixed import HOT_DOCUMENTS, HOT_KEY


def drain(pages):
    return [[row["id"] for row in page] for page in pages]


@pytest.mark.parametrize("size", [1, 7, 50, 1000, -1])
def test_pages_cover_the_container_once(wide_container, size):
    pages = drain(wide_container.read_all_items(max_item_count=size).by_page())
    if size > 0:
        assert all(len(page) <= size for page in pages)
    found = [name for page in pages for name in page]
    assert sorted(found) == sorted(f"i{n}" for n in range(100))


def test_continuation_resumes_where_the_page_ended(wide_container):
    pager = wide_container.read_all_items(max_item_count=8).by_page()
    seen = [row["id"] for row in next(pager)]
    token = pager.continuation_token
    assert token
    for page in wide_container.read_all_items(max_item_count=8).by_page(token):
        seen += [row["id"] for row in page]
    assert sorted(seen) == sorted(f"i{n}" for n in range(100))


def test_last_page_has_no_continuation(new_container):
    made = new_container()
    made.create_item({"id": "1", "pk": "a"})
    pager = made.read_all_items().by_page()
    assert [row["id"] for row in next(pager)] == ["1"]
    assert not pager.continuation_token
    assert drain(pager) == []


def test_empty_container(new_container):
    assert list(new_container().read_all_items()) == []


def test_order_inside_a_partition_is_stable(new_container):
    made = new_container(offer_throughput=10000)
    for n in range(20):
        made.create_item({"id": f"{n}", "pk": f"k{n % 4}"})
    first = [row["id"] for row in made.read_all_items()]
    again = [
        name for page in drain(made.read_all_items(max_item_count=3).by_page()) for name in page
    ]
    assert first == again


def test_items_of_a_key_come_in_the_order_of_ids(mixed_container):
    """In the service it is the order of their creation: COMPAT.md, deliberate differences."""
    found = [row["id"] for row in mixed_container.query_items("SELECT * FROM c", partition_key=HOT_KEY)]
    made = [row["id"] for row in HOT_DOCUMENTS]
    assert found == sorted(made) != made


def test_each_page_is_charged_and_counted(wide_container):
    hook = Hook()
    pages = drain(wide_container.read_all_items(max_item_count=40, **hook.raw()).by_page())
    assert len(hook.calls) == len(pages)
    for (headers, body), page in zip(hook.calls, pages):
        assert charge(headers) > 0
        assert body["_count"] == len(page) == len(body["Documents"])
        assert int(headers["x-ms-item-count"]) == len(page)


@pytest.mark.parametrize("size", [-2, 2**31])
def test_impossible_page_sizes(container, size):
    with failure(400):
        list(container.read_all_items(**sending("x-ms-max-item-count", str(size))))


def test_broken_continuation_is_refused(container):
    with failure(400):
        list(container.read_all_items().by_page("not a token"))


def test_page_is_cut_at_four_megabytes(new_container):
    made = new_container(offer_throughput=10000)
    for n in range(6):
        made.create_item({"id": str(n), "pk": str(n), "text": "x" * 1_000_000})
    pages = drain(made.read_all_items(max_item_count=-1).by_page())
    assert len(pages) >= 2
    assert sorted(name for page in pages for name in page) == [str(n) for n in range(6)]
