"""Three hundred documents with every kind of value on one property, and the order they sort in.

The expected results of the query tests are computed here from the documents, by the rules of the
language: `undefined < null < false < true < numbers < strings < arrays < objects`.
"""

import pytest

from distinct_hash import distinct_hash
from expect import sending

UNDEFINED = object()
PAGE_SIZES = [1, 7, 100, 1000]
HOT_KEY = "hot"

_STRINGS = ["", "A", "a", "aa", "b", "Ä", "ü", "z", "\u00e9", "\uff5e", "\U0001f600", "10", "9"]


def _value(n):
    """The value of `v`: ten kinds in turn, with repeated values inside each kind."""
    turn = n // 10
    return [
        UNDEFINED,
        None,
        False,
        True,
        turn - 12,
        (turn % 9) / 4 - 1.125,
        f"s{turn % 11:02}",
        _STRINGS[turn % len(_STRINGS)],
        [turn % 4, {"deep": [turn % 3]}],
        {"x": turn % 5, "y": [None, turn % 2 == 0]},
    ][n % 10]


def _document(n):
    made = {
        # In another order than the documents are made in, so that no order by id passes for one of creation.
        "id": f"i{n * 17 % 300:03}",
        "pk": HOT_KEY if (n // 10) % 5 == 0 else f"k{n % 37}",
        "n": n,
        "g": f"g{n % 7}",
        "price": n * 3 % 101 / 4,
        "tags": [{"name": f"t{k}", "w": k * n % 5} for k in range(n % 4)],
    }
    value = _value(n)
    if value is not UNDEFINED:
        made["v"] = value
    if n % 3:
        made["part"] = n % 3 if n % 2 else None
    return made


DOCUMENTS = [_document(n) for n in range(300)]
HOT_DOCUMENTS = [row for row in DOCUMENTS if row["pk"] == HOT_KEY]


def get(row, name):
    return row.get(name, UNDEFINED)


def order_key(value):
    """Compares as the total order of the language does."""
    if value is UNDEFINED:
        return (0,)
    if value is None:
        return (1,)
    if isinstance(value, bool):
        return (3 if value else 2,)
    if isinstance(value, (int, float)):
        return (4, value)
    if isinstance(value, str):
        return (5, value.encode("utf-16-be"))
    return (6 if isinstance(value, list) else 7, distinct_hash(value))


def defined(rows, name):
    """The values of a property, without the rows that lack it."""
    return [row[name] for row in rows if name in row]


def fill(container):
    for row in DOCUMENTS:
        container.create_item(row)


# All rows over all partitions from the server: without the header the client would make a plan and merge, and it merges
# neither groups nor values of several types.
WHOLE = {
    "enable_cross_partition_query": True,
    **sending("x-orrery-whole-query", "True"),
}


# What programs send by default: the server refuses a query that needs merging, and the client makes a plan and merges.
MERGED = {"enable_cross_partition_query": True}
SCOPES = {
    "container": (DOCUMENTS, WHOLE),
    "ranges": (DOCUMENTS, MERGED),
    "key": (HOT_DOCUMENTS, {"partition_key": HOT_KEY}),
}
SCOPE = pytest.mark.parametrize("documents, scope", SCOPES.values(), ids=SCOPES.keys())
# For what the Python client refuses to merge: groups, aggregates that are properties, an order over several types.
SERVER_SCOPE = pytest.mark.parametrize(
    "documents, scope", [SCOPES["container"], SCOPES["key"]], ids=["container", "key"]
)


def pages(container, query, size=None, *, token=None, parameters=None, **scope):
    """Every page as a list; over all partitions unless the scope names a key."""
    scope = scope or WHOLE
    feed = container.query_items(query, parameters=parameters, max_item_count=size, **scope)
    found = [list(page) for page in feed.by_page(token)]
    if size is not None:
        assert all(len(page) <= size for page in found)
    return found


def rows(container, query, size=None, **options):
    return [row for page in pages(container, query, size, **options) for row in page]


def in_every_page_size(container, query, **options):
    """The rows of a query, after checking that no page size changes them or their order."""
    first, *others = [rows(container, query, size, **options) for size in PAGE_SIZES]
    for size, other in zip(PAGE_SIZES[1:], others):
        assert other == first, f"pages of {size} differ from pages of {PAGE_SIZES[0]}"
    return first
