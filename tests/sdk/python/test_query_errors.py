"""A query that cannot run says why: status 400, the code of the language and the place."""

import json

import pytest

from expect import failure
from mixed import SCOPE, rows

CASES = [
    ("SELEC * FROM c", "SC1001"),
    ("SELECT * FROM", "SC1002"),
    ("SELECT * FROM c WHERE", "SC1002"),
    ("SELECT c.a, FROM c", "SC1001"),
    ("SELECT * FROM c WHERE c.a IS NULL", "SC1001"),
    ("SELECT * FROM c WHERE c.a IN ()", "SC1001"),
    ("SELECT * FROM c WHERE c.left = 1", "SC1001"),
    ("SELECT VALUE [1,] FROM c", "SC1001"),
    ("SELECT VALUE {'a': 1,} FROM c", "SC1001"),
    ("SELECT * FROM c GROUP BY c.a HAVING c.a > 1", "SC1001"),
    ("SELECT * FROM c;", "SC1010"),
    ("SELECT *, c.a FROM c", "SC1001"),
    ("SELECT VALUE * FROM c", "SC1001"),
    ("SELECT x.a FROM c", "SC2001"),
    ("SELECT * FROM c WHERE x.a = 1", "SC2001"),
    ("SELECT products.id FROM products p", "SC2001"),
    ("SELECT VALUE BADFUNC(c.a) FROM c", "SC2005"),
    ("SELECT VALUE RRF(c.a) FROM c", "SC2005"),
    ("SELECT VALUE ABS() FROM c", "SC2050"),
    ("SELECT VALUE ABS(1, 2) FROM c", "SC2050"),
    ("SELECT VALUE STARTSWITH(c.a) FROM c", "SC2050"),
    ("SELECT VALUE CONCAT('a') FROM c", "SC2050"),
    ("SELECT * FROM c WHERE EXISTS(SELECT TOP 1 * FROM t IN c.tags)", "SC2203"),
    ("SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.tags ORDER BY t.w) FROM c", "SC2202"),
    ("SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.tags OFFSET 0 LIMIT 1) FROM c", "SC2204"),
]


def errors_of(caught):
    """The list of errors inside the message of the answer."""
    message = json.loads(caught.value.http_error_message)["message"]
    assert message.startswith("Message: {")
    return json.JSONDecoder().raw_decode(message, len("Message: "))[0]["errors"]


@pytest.mark.parametrize("query, code", CASES, ids=[query for query, _ in CASES])
@SCOPE
def test_code(mixed_container, documents, scope, query, code):
    with failure(400, sub_status=0) as caught:
        rows(mixed_container, query, **scope)
    (error,) = errors_of(caught)
    assert error["code"] == code
    assert error["severity"] == "Error"


PLACES = {
    "SELECT VALUE BADFUNC(c.a) FROM c": ("BADFUNC", "not a recognized built-in function name"),
    "SELECT * FROM c WHERE x.a = 1": ("x", "Identifier 'x' could not be resolved."),
    "SELECT * FRM c": ("FRM", "Syntax error, incorrect syntax near 'FRM'."),
}


@pytest.mark.parametrize("query, place", PLACES.items(), ids=PLACES.keys())
def test_location_and_message(mixed_container, query, place):
    with failure(400) as caught:
        rows(mixed_container, query)
    (error,) = errors_of(caught)
    location = error["location"]
    assert query[location["start"] : location["end"]] == place[0]
    assert place[1] in error["message"]


def test_composed_aggregates_run_where_no_client_has_to_merge(mixed_container):
    (average,) = rows(mixed_container, "SELECT VALUE AVG(c.n) FROM c")
    assert rows(mixed_container, "SELECT VALUE AVG(c.n) + 1 FROM c") == [average + 1]


def test_missing_container(database):
    with failure(404):
        rows(database.get_container_client("nobody"), "SELECT * FROM c")
