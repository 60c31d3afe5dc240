"""Triggers around writes of items, and functions inside queries."""

import pytest
from azure.cosmos import PartitionKey

from conftest import unique
from expect import failure


def mark(letter):
    return f"""function () {{
      const request = getContext().getRequest();
      const item = request.getBody();
      item.marks = (item.marks || "") + "{letter}";
      request.setBody(item);
    }}"""


COUNT = """() => {
  __.readDocument(__.getAltLink() + "/docs/count", (error, count) => {
    if (error) throw error;
    count.n += 1;
    count.last = getContext().getRequest().getOperationType();
    __.replaceDocument(count._self, count);
  });
}"""


@pytest.fixture(scope="module")
def items(database):
    made = database.create_container(unique("triggers"), PartitionKey("/pk"))
    for name, body, timing, operation in [
        ("a", mark("a"), "pre", "all"),
        ("b", mark("b"), "Pre", "All"),
        ("creates", mark("c"), "Pre", "Create"),
        ("count", COUNT, "Post", "All"),
        ("refuse", "() => { throw new Error('not today'); }", "Post", "All"),
    ]:
        made.scripts.create_trigger(
            {"id": name, "body": body, "triggerType": timing, "triggerOperation": operation}
        )
    yield made
    database.delete_container(made.id)


@pytest.fixture
def counted(items, pk):
    items.create_item({"id": "count", "pk": pk, "n": 0})

    def count():
        item = items.read_item("count", pk)
        return item["n"], item.get("last")

    return count


def test_every_write_runs_what_it_names(items, counted, pk):
    item = {"id": "1", "pk": pk}
    both = {"pre_trigger_include": "a", "post_trigger_include": "count"}
    assert items.create_item(item, **both)["marks"] == "a"
    assert counted() == (1, "Create")
    assert items.upsert_item(item, **both)["marks"] == "a"
    assert counted() == (2, "Upsert")
    replaced = items.replace_item("1", item, **{**both, "pre_trigger_include": "b"})
    assert replaced["marks"] == "b"
    assert counted() == (3, "Replace")
    items.patch_item(
        "1", pk, [{"op": "set", "path": "/x", "value": 1}], post_trigger_include="count"
    )
    assert counted()[0] == 4
    items.delete_item("1", pk, post_trigger_include="count")
    assert counted() == (5, "Delete")
    assert "marks" not in items.create_item(item)


def test_triggers_run_in_the_order_named(items, pk):
    made = items.create_item({"id": "1", "pk": pk}, pre_trigger_include="b,a")
    assert made["marks"] == "ba"


def test_what_a_trigger_throws_undoes_the_write(items, counted, pk):
    with failure(400, message="not today"):
        items.create_item({"id": "1", "pk": pk}, post_trigger_include="count,refuse")
    with failure(404):
        items.read_item("1", pk)
    assert counted() == (0, None)


def test_triggers_that_cannot_be_named(items, pk):
    item = {"id": "1", "pk": pk}
    with failure(400, message="'none' does not exist"):
        items.create_item(item, pre_trigger_include="none")
    with failure(400, message="post-trigger"):
        items.create_item(item, pre_trigger_include="count")
    with failure(400, message="'Create'"):
        items.upsert_item(item, pre_trigger_include="creates")


@pytest.fixture(scope="module")
def functions(wide_container):
    scripts = wide_container.scripts
    for name, body in [
        ("tax", "function tax(n) { return n < 50 ? n * 0.1 : n * 0.2; }"),
        ("wrap", "(value, other) => ({ value, other: typeof other })"),
        ("fail", "() => { throw new Error('not this one'); }"),
    ]:
        scripts.create_user_defined_function({"id": name, "body": body})
    yield wide_container
    for name in ("tax", "wrap", "fail"):
        scripts.delete_user_defined_function(name)


def tax(n):
    return n * 0.1 if n < 50 else n * 0.2


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SELECT VALUE c.n FROM c WHERE udf.tax(c.n) > 15", [n for n in range(100) if tax(n) > 15]),
        (
            "SELECT VALUE c.n FROM c WHERE udf.tax(c.n) > 15 ORDER BY c.n DESC",
            [n for n in range(99, -1, -1) if tax(n) > 15],
        ),
        ("SELECT VALUE COUNT(1) FROM c WHERE udf.tax(c.n) <= 2", [21]),
        ("SELECT VALUE SUM(udf.tax(c.n)) FROM c WHERE c.n IN (10, 60)", [13]),
        (
            "SELECT VALUE udf.wrap(c.id, c.missing) FROM c WHERE c.n = 7",
            [{"value": "i7", "other": "undefined"}],
        ),
    ],
)
def test_functions_across_partitions(functions, query, expected):
    rows = list(functions.query_items(query, enable_cross_partition_query=True))
    assert (rows if "ORDER BY" in query else sorted(rows, key=str)) == (
        expected if "ORDER BY" in query else sorted(expected, key=str)
    )


def test_functions_in_one_partition(functions):
    query = "SELECT c.n, udf.tax(c.n) AS tax FROM c WHERE udf.tax(c.n) > @min ORDER BY c.n"
    parameters = [{"name": "@min", "value": 1}]
    rows = functions.query_items(query, parameters=parameters, partition_key="k10")
    assert list(rows) == [{"n": 60, "tax": 12}]


def test_functions_that_fail(functions):
    with failure(400, message="not this one"):
        list(functions.query_items("SELECT VALUE udf.fail() FROM c", partition_key="k1"))
    with failure(400, message="absent"):
        list(functions.query_items("SELECT VALUE udf.absent() FROM c", partition_key="k1"))


def test_a_batch_names_no_triggers(items, pk):
    operations = [("create", ({"id": "batch", "pk": pk},))]
    with failure(400, message="Triggers cannot be named by a batch"):
        items.execute_item_batch(operations, pk, pre_trigger_include="a")
    with failure(404):
        items.read_item("batch", pk)
