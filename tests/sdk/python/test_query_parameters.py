"""Parameters of every type, wherever an expression may stand."""

import pytest

from expect import failure
from mixed import DOCUMENTS, HOT_KEY, UNDEFINED, get, order_key, rows

VALUES = [None, False, True, 0, -12, 0.125, "", "s03", "\U0001f600", [], {}]
VALUES += [[1, {"deep": [2]}], {"y": [None, True], "x": 0}]


def parameter(value):
    return [{"name": "@p", "value": value}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_comes_back_as_sent(mixed_container, value):
    found = rows(mixed_container, "SELECT VALUE @p", parameters=parameter(value))
    assert found == [value] and type(found[0]) is type(value)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_equality(mixed_container, value):
    wanted = order_key(value)
    expected = [row["n"] for row in DOCUMENTS if order_key(get(row, "v")) == wanted]
    for condition in ["c.v = @p", "@p = c.v", "c.v IN (@p)", "ARRAY_CONTAINS([@p], c.v)"]:
        query = f"SELECT VALUE c.n FROM c WHERE {condition}"
        found = rows(mixed_container, query, parameters=parameter(value))
        assert sorted(found) == expected, condition


def test_control_characters_stand_in_literals_as_they_are(mixed_container):
    text = "a\tb\r\nc\u0001\u007f"
    assert rows(mixed_container, f"SELECT VALUE '{text}'") == [text]
    query = f'SELECT VALUE {{"{text}": @p}} FROM c WHERE c.n = 5 AND "{text}" = @p'
    found = rows(mixed_container, query, parameters=parameter(text))
    assert found == [{text: text}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_inequality_is_true_across_types(mixed_container, value):
    wanted = order_key(value)
    expected = [
        row["n"]
        for row in DOCUMENTS
        if get(row, "v") is not UNDEFINED and order_key(row["v"]) != wanted
    ]
    query = "SELECT VALUE c.n FROM c WHERE c.v != @p"
    assert sorted(rows(mixed_container, query, parameters=parameter(value))) == expected


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_ordering_stays_inside_a_primitive_type(mixed_container, value):
    def comparable(other):
        kinds = (type(None), bool, (int, float), str)
        return any(
            isinstance(value, kind) and isinstance(other, kind)
            for kind in kinds
            if isinstance(value, bool) == isinstance(other, bool)
        )

    expected = [
        row["n"]
        for row in DOCUMENTS
        if "v" in row and comparable(row["v"]) and order_key(row["v"]) >= order_key(value)
    ]
    query = "SELECT VALUE c.n FROM c WHERE c.v >= @p"
    assert sorted(rows(mixed_container, query, parameters=parameter(value))) == expected


def test_name_of_a_property(mixed_container):
    query = "SELECT VALUE c[@p] FROM c WHERE c.n = 5"
    assert rows(mixed_container, query, parameters=parameter("id")) == [DOCUMENTS[5]["id"]]


def test_partition_key_in_a_parameter_needs_no_switch(mixed_container):
    query = "SELECT VALUE COUNT(1) FROM c WHERE c.pk = @p"
    found = rows(
        mixed_container, query, parameters=parameter(HOT_KEY), enable_cross_partition_query=False
    )
    assert found == [60]


def test_unused_and_repeated(mixed_container):
    parameters = parameter(3) + [{"name": "@unused", "value": "x"}]
    query = "SELECT VALUE @p * c.n + @p FROM c WHERE c.n = @p"
    assert rows(mixed_container, query, parameters=parameters) == [12]


@pytest.mark.parametrize(
    "query", ["SELECT VALUE @missing FROM c", "SELECT * FROM c WHERE c.n = @missing"]
)
def test_without_a_value_it_is_undefined(mixed_container, query):
    assert rows(mixed_container, query, partition_key=HOT_KEY) == []


def test_a_count_needs_its_value(mixed_container):
    with failure(400):
        rows(mixed_container, "SELECT TOP @missing * FROM c ORDER BY c.n", partition_key=HOT_KEY)


@pytest.mark.parametrize("value", [None, True, [0], {}], ids=repr)
def test_an_index_is_a_string_or_a_number(mixed_container, value):
    with failure(400, message="SC2990"):
        rows(mixed_container, "SELECT VALUE c[@p] FROM c", parameters=parameter(value))
