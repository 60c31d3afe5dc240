"""Filters, projections, parameters and pages of plain queries."""

import pytest
from azure.cosmos import PartitionKey

from expect import failure

ROWS = [
    {"id": "1", "n": 1, "s": "a", "b": True, "list": [1, 2], "o": {"x": 1}},
    {"id": "2", "n": 2, "s": "b", "b": False, "o": {"x": 2}},
    {"id": "3", "n": 3, "s": "c", "b": True, "null": None},
    {"id": "4", "n": 4.5, "s": "Ä", "b": False},
    {"id": "5", "s": "a"},
]


@pytest.fixture(scope="module")
def rows(database):
    made = database.create_container("rows", PartitionKey("/pk"), offer_throughput=10000)
    for row in ROWS:
        made.create_item({**row, "pk": "p"})
    yield made
    database.delete_container("rows")


CONDITIONS = {
    "c.n = 2": ["2"],
    "c.n != 2": ["1", "3", "4"],
    "c.n <> 2": ["1", "3", "4"],
    "c.n < 2": ["1"],
    "c.n <= 2": ["1", "2"],
    "c.n > 3": ["4"],
    "c.n >= 3": ["3", "4"],
    "c.s = 'a'": ["1", "5"],
    'c.s = "a"': ["1", "5"],
    "c.s > 'a'": ["2", "3", "4"],
    "c['s'] = 'b'": ["2"],
    'c["o"]["x"] = 1': ["1"],
    "c.o.x = 2": ["2"],
    "c.list[1] = 2": ["1"],
    "c.b = true": ["1", "3"],
    "c.b": ["1", "3"],
    "NOT c.b": ["2", "4"],
    'c["null"] = null': ["3"],
    "c.n = 1 OR c.n = 3": ["1", "3"],
    "c.b = true AND c.n > 1": ["3"],
    "NOT (c.n = 1 OR c.s = 'b')": ["3", "4"],
    "c.n IN (1, 3, 99)": ["1", "3"],
    "c.s NOT IN ('a', 'b')": ["3", "4"],
    "c.n BETWEEN 2 AND 4": ["2", "3"],
    "c.n = '2'": [],
    "c.missing = 1": [],
    "c.missing != 1": [],
    "1 = 1": ["1", "2", "3", "4", "5"],
    "false": [],
    "c.id = '3' AND c.pk = 'p'": ["3"],
    "c.n = 1 AND c.s = 'a' OR c.n = 2": ["1", "2"],
    "c.n = -1": [],
}


@pytest.mark.parametrize("condition, expected", CONDITIONS.items(), ids=CONDITIONS.keys())
@pytest.mark.parametrize("scope", ["key", "container"])
def test_condition(rows, condition, expected, scope):
    options = {"partition_key": "p"} if scope == "key" else {"enable_cross_partition_query": True}
    found = rows.query_items(f"SELECT * FROM c WHERE {condition}", **options)
    assert sorted(row["id"] for row in found) == expected


def test_select_star_returns_whole_items(rows):
    found = {row["id"]: row for row in rows.query_items("SELECT * FROM c", partition_key="p")}
    for row in ROWS:
        assert found[row["id"]] == rows.read_item(row["id"], "p")


@pytest.mark.parametrize("source", ["c", "root", "items r", "rows AS x"])
def test_any_source_name(rows, source):
    assert len(list(rows.query_items(f"SELECT * FROM {source}", partition_key="p"))) == 5


def test_keywords_in_any_case(rows):
    found = rows.query_items("select * from c where c.n = 1", partition_key="p")
    assert [row["id"] for row in found] == ["1"]


def test_select_value(rows):
    found = list(rows.query_items("SELECT VALUE c.n FROM c", partition_key="p"))
    assert sorted(found) == [1, 2, 3, 4.5]


def test_select_properties(rows):
    found = list(rows.query_items("SELECT c.id, c.n FROM c WHERE c.s = 'a'", partition_key="p"))
    assert sorted(found, key=lambda row: row["id"]) == [{"id": "1", "n": 1}, {"id": "5"}]


def test_select_renamed(rows):
    found = list(rows.query_items("SELECT c.n AS number FROM c WHERE c.id='1'", partition_key="p"))
    assert found == [{"number": 1}]


def test_parameters(rows):
    found = rows.query_items(
        "SELECT * FROM c WHERE c.n >= @low AND c.s IN (@a, @b) AND c.b = @flag",
        parameters=[
            {"name": "@low", "value": 1},
            {"name": "@a", "value": "a"},
            {"name": "@b", "value": "c"},
            {"name": "@flag", "value": True},
        ],
        partition_key="p",
    )
    assert sorted(row["id"] for row in found) == ["1", "3"]


def test_text_with_quotes_and_unicode(container, pk):
    texts = ["it's", 'say "x"', "back\\slash", "new\nline", "ünï😀", ""]
    for n, text in enumerate(texts):
        container.create_item({"id": str(n), "pk": pk, "t": text})
    for n, text in enumerate(texts):
        found = container.query_items(
            "SELECT * FROM c WHERE c.t = @t",
            parameters=[{"name": "@t", "value": text}],
            partition_key=pk,
        )
        assert [row["id"] for row in found] == [str(n)]


@pytest.mark.parametrize("size", [1, 7, 33, 1000])
def test_cross_partition_pages(wide_container, size):
    pages = [
        list(page)
        for page in wide_container.query_items(
            "SELECT * FROM c WHERE c.even = true",
            enable_cross_partition_query=True,
            max_item_count=size,
        ).by_page()
    ]
    assert all(len(page) <= size for page in pages)
    found = [row["n"] for page in pages for row in page]
    assert sorted(found) == list(range(0, 100, 2))


def test_cross_partition_continuation(wide_container):
    def query():
        return wide_container.query_items(
            "SELECT * FROM c", enable_cross_partition_query=True, max_item_count=9
        )

    pager = query().by_page()
    seen = [row["id"] for row in next(pager)]
    for page in query().by_page(pager.continuation_token):
        seen += [row["id"] for row in page]
    assert sorted(seen) == sorted(f"i{n}" for n in range(100))


@pytest.mark.parametrize("name", ["wide", "rows"])
def test_cross_partition_needs_the_switch(database, wide_container, rows, name):
    # Whether the container has one physical partition or three does not matter.
    container = database.get_container_client(name)
    with failure(400, sub_status=0, message="Cross partition query is required but disabled."):
        list(container.query_items("SELECT * FROM c", enable_cross_partition_query=False))


def test_key_in_the_condition_needs_no_switch(wide_container):
    query = "SELECT * FROM c WHERE c.pk = 'k7'"
    found = wide_container.query_items(query, enable_cross_partition_query=False)
    assert sorted(row["id"] for row in found) == ["i57", "i7"]


def test_pages_inside_one_key(container, pk):
    for n in range(25):
        container.create_item({"id": f"{n:02}", "pk": pk})
    pages = [
        [row["id"] for row in page]
        for page in container.query_items(
            "SELECT * FROM c", partition_key=pk, max_item_count=10
        ).by_page()
    ]
    assert [len(page) for page in pages if page] == [10, 10, 5]
    assert sorted(name for page in pages for name in page) == [f"{n:02}" for n in range(25)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT",
        "SELECT * FROM",
        "SELEC * FROM c",
        "SELECT * FROM c WHERE",
        "SELECT * FROM c WHERE c.n =",
        "SELECT * FROM c WHERE x.n = 1",
    ],
)
def test_syntax_errors(rows, text):
    with failure(400):
        list(rows.query_items(text, partition_key="p"))
