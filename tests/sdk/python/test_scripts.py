"""Stored procedures: life cycle, arguments, bodies, logs, failures, transactions."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import unique
from expect import charge, failure

KINDS = ["stored_procedure", "trigger", "user_defined_function"]
BROKEN = "this { is not JavaScript"
COUNT = """
function count() {
  const link = __.getAltLink() + "/docs/counter";
  __.readDocument(link, (error, counter) => {
    if (error) throw error;
    counter.n += 1;
    __.replaceDocument(counter._self, counter, (error) => {
      if (error) throw error;
      __.response.setBody(counter.n);
    });
  });
}
"""


class Scripts:
    """The calls of the SDK for one kind of script, which differ by name only."""

    def __init__(self, container, kind):
        plural = f"{kind}s"
        scripts = container.scripts
        self.kind = kind
        self.create = getattr(scripts, f"create_{kind}")
        self.get = getattr(scripts, f"get_{kind}")
        self.list = getattr(scripts, f"list_{plural}")
        self.query = getattr(scripts, f"query_{plural}")
        self.replace = getattr(scripts, f"replace_{kind}")
        self.delete = getattr(scripts, f"delete_{kind}")

    def body(self, name, text):
        trigger = {"triggerType": "pre", "triggerOperation": "all"}
        return {"id": name, "body": text, **(trigger if self.kind == "trigger" else {})}


@pytest.fixture
def run(container, pk):
    """Registers a procedure and runs it in the partition of the test."""
    made = []

    def execute(body, *params, **options):
        made.append(unique("s"))
        container.scripts.create_stored_procedure({"id": made[-1], "body": body})
        arguments = {"params": list(params)} if params else {}
        return container.scripts.execute_stored_procedure(made[-1], pk, **arguments, **options)

    yield execute
    for name in made:
        container.scripts.delete_stored_procedure(name)


@pytest.fixture
def last(container):
    """The headers of the last answer; runs of procedures take no hook."""
    return lambda: container.client_connection.last_response_headers


@pytest.mark.parametrize("kind", KINDS)
def test_life_cycle(new_container, kind):
    scripts = Scripts(new_container(), kind)
    first = scripts.create(scripts.body("s1", BROKEN))
    assert first["body"] == BROKEN
    assert {"_rid", "_ts", "_self", "_etag"} <= first.keys()
    if kind == "trigger":
        assert (first["triggerType"], first["triggerOperation"]) == ("pre", "all")
    with failure(409):
        scripts.create(scripts.body("s1", BROKEN))
    scripts.create(scripts.body("s2", "() => 2"))
    assert scripts.get("s1") == first
    assert [row["id"] for row in scripts.list()] == ["s1", "s2"]
    assert [row["id"] for row in scripts.list(max_item_count=1)] == ["s1", "s2"]
    parameters = [{"name": "@id", "value": "s2"}]
    found = list(scripts.query("SELECT * FROM r WHERE r.id=@id", parameters=parameters))
    assert [row["body"] for row in found] == ["() => 2"]
    replaced = scripts.replace("s1", scripts.body("s3", "() => 3"))
    assert (replaced["id"], replaced["_rid"]) == ("s3", first["_rid"])
    with failure(404):
        scripts.get("s1")
    scripts.delete("s3")
    with failure(404):
        scripts.delete("s3")
    assert [row["id"] for row in scripts.list()] == ["s2"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_is_required(container, kind):
    with failure(400, message="'body; '"):
        Scripts(container, kind).create({"id": "s"})


def test_scripts_go_with_their_container(database):
    name = unique("c")
    first = database.create_container(name, PartitionKey("/pk"))
    first.scripts.create_stored_procedure({"id": "s", "body": "() => {}"})
    database.delete_container(name)
    second = database.create_container(name, PartitionKey("/pk"))
    assert list(second.scripts.list_stored_procedures()) == []
    with failure(404):
        second.scripts.execute_stored_procedure("s", "p")


@pytest.mark.parametrize(
    "body, params, expected",
    [
        ("function () { getContext().getResponse().setBody(999); }", [], 999),
        ("function (x) { getContext().getResponse().setBody('a' + x); }", ["so"], "aso"),
        ("(a, b) => { __.response.setBody([b, a]); }", [{"x": [1]}, None], [None, {"x": [1]}]),
        ("function f() { for (var i = 0; i < 10; i++) getContext().getResponse()"
         ".appendValue('Body', i); }", [], "0123456789"),
        ("(text) => { __.response.setBody(text); }", ["é ★ \U0001f4da"], "é ★ \U0001f4da"),
        ("() => { __.response.setBody(false); }", [], False),
    ],
)
def test_arguments_and_bodies(run, body, params, expected):
    assert run(body, *params) == expected


def test_statements_may_follow_the_function(run):
    body = "(function () { getContext().getResponse().setBody(helper()); });\nfunction helper() { return 3; }\nvar rest = 1;"
    assert run(body, None) == 3


def test_the_error_number_of_a_function_is_the_sub_status(container, pk):
    name = "numbered"
    body = "function () { throw new Error(1234, 'no'); }"
    container.scripts.create_user_defined_function({"id": name, "body": body})
    container.create_item({"id": "1", "pk": pk})
    with pytest.raises(CosmosHttpResponseError) as caught:
        list(container.query_items(f"SELECT VALUE udf.{name}() FROM c", partition_key=pk))
    assert (caught.value.status_code, caught.value.sub_status) == (400, 1234)


def test_a_body_that_is_never_set(run):
    assert not run("function () {}")


def test_one_argument_that_is_no_list(container, pk, run):
    name = unique("s")
    container.scripts.create_stored_procedure(
        {"id": name, "body": "(item) => { __.response.setBody(item.a); }"}
    )
    given = container.scripts.execute_stored_procedure(name, pk, params={"a": 1})
    assert given == 1


def test_logs(run, last):
    body = "(x) => { console.log('The value of x is %s.', x); console.log('é'); }"
    run(body, 1, enable_script_logging=True)
    assert last()["x-ms-documentdb-script-log-results"] == "The%20value%20of%20x%20is%201.%C3%A9"
    run(body, 1)
    assert "x-ms-documentdb-script-log-results" not in last()


def test_failures(run, container, pk):
    with failure(400, 65535, "Encountered exception while compiling Javascript."):
        run(BROKEN)
    with failure(400, 0, "Exception = Error: no such thing"):
        run("function () { throw new Error('no such thing'); }")
    with failure(400, 417, "seventeen"):
        run("function () { throw new Error(417, 'seventeen'); }")
    with failure(404):
        container.scripts.execute_stored_procedure("no-such-procedure", pk)


def test_a_run_is_one_transaction(run, container, last, pk):
    body = """(pk, fails) => {
      for (let n = 0; n < 10; n++) {
        __.createDocument(__.getSelfLink(), { id: String(n), pk: pk });
      }
      if (fails) throw new Error("undo");
    }"""
    with failure(400, message="undo"):
        run(body, pk, True)
    assert list(container.query_items("SELECT * FROM c", partition_key=pk)) == []
    run(body, pk, False)
    assert charge(last()) > 10
    assert container.read_item("9", pk)["pk"] == pk
    assert len(list(container.query_items("SELECT * FROM c", partition_key=pk))) == 10


def test_pages_and_continuations(run, container, pk):
    for n in range(25):
        container.create_item({"id": f"i{n:02}", "pk": pk, "n": n})
    body = """() => {
      const ids = [];
      let pages = 0;
      (function next(continuation) {
        const options = { pageSize: 10, continuation };
        const isAccepted = __.queryDocuments(
          __.getSelfLink(), "SELECT VALUE c.id FROM c WHERE c.n >= 2", options,
          (error, rows, { continuation }) => {
            if (error) throw error;
            ids.push(...rows);
            pages += 1;
            if (continuation) next(continuation);
            else __.response.setBody({ ids, pages });
          });
        if (!isAccepted) throw new Error("no time left");
      })();
    }"""
    told = run(body)
    assert sorted(told["ids"]) == [f"i{n:02}" for n in range(2, 25)]
    assert told["pages"] == 3


def test_other_partitions_are_out_of_reach(run, container):
    other = unique("pk")
    container.create_item({"id": "other", "pk": other})
    read = """() => {
      __.readDocument(__.getAltLink() + "/docs/other", (error) => __.response.setBody(error.number));
    }"""
    assert run(read) == 404
    with failure(400, message="cannot reference partition keys other than the one"):
        run(f"() => {{ __.createDocument(__.getSelfLink(), {{ id: '1', pk: '{other}' }}); }}")


def test_nothing_of_the_machine_is_reachable(run):
    names = "require process fetch setTimeout std os Deno Worker XMLHttpRequest".split()
    body = "(names) => { __.response.setBody(names.map((name) => typeof globalThis[name])); }"
    assert set(run(body, names)) == {"undefined"}


def test_concurrent_runs_lose_nothing(container, pk):
    name = unique("s")
    container.scripts.create_stored_procedure({"id": name, "body": COUNT})
    container.create_item({"id": "counter", "pk": pk, "n": 0})

    def count(_):
        try:
            return container.scripts.execute_stored_procedure(name, pk)
        except CosmosHttpResponseError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(count, range(200)))
    assert sorted(told, key=str) == sorted(range(1, 201), key=str)
    assert container.read_item("counter", pk)["n"] == 200


def test_hierarchical_keys(new_container):
    tenants = new_container(PartitionKey(["/tenant", "/user"], kind="MultiHash"))
    body = "() => { __.createDocument(__.getSelfLink(), { id: '1', tenant: 't', user: 'u' }); }"
    tenants.scripts.create_stored_procedure({"id": "s", "body": body})
    tenants.scripts.execute_stored_procedure("s", ["t", "u"])
    assert tenants.read_item("1", ["t", "u"])["user"] == "u"
    with failure(400):
        tenants.scripts.execute_stored_procedure("s", ["t"])
