"""Built-in functions and operators, as the values they give; `UNDEFINED` leaves no row."""

import pytest

from mixed import DOCUMENTS, HOT_DOCUMENTS, HOT_KEY, UNDEFINED, rows

STRINGS = {
    "CONCAT('a', 'b', 'c')": "abc",
    "CONCAT('a', 1)": UNDEFINED,
    "CONTAINS('AdventureWorks', 'works')": False,
    "CONTAINS('AdventureWorks', 'works', true)": True,
    "CONTAINS('x', '')": True,
    "CONTAINS_ANY_CI('Have a nice day!', undefined, 'NICE')": True,
    "ContainsAllCs('Have a nice day!', 'nice', 'Day')": False,
    "STARTSWITH('AdventureWorks', 'adventure')": False,
    "STARTSWITH('AdventureWorks', 'adventure', true)": True,
    "ENDSWITH('AdventureWorks', 'Works')": True,
    "STRINGEQUALS('A', 'a')": False,
    "STRINGEQUALS('A', 'a', true)": True,
    "INDEX_OF('AdventureWorks', 'Works', 5)": 9,
    "INDEX_OF('abc', 'x')": -1,
    "LASTINDEXOF('abcdeabc', 'abc')": 5,
    "LEFT('AdventureWorks', 5)": "Adven",
    "LEFT('x', -1)": "",
    "RIGHT('AdventureWorks', 5)": "Works",
    "RIGHT('Hello', 1.5)": UNDEFINED,
    "LENGTH('')": 0,
    "LENGTH([1])": UNDEFINED,
    "LOWER('AbC')": "abc",
    "UPPER('AbC')": "ABC",
    "TRIM('  x ')": "x",
    "TRIM('-_-A-_-', '-_')": "A",
    "LTRIM('  x ')": "x ",
    "RTRIM('AdventureWorks', 'Works')": "Adventure",
    "REGEXMATCH('abcd', 'aB c', 'ix')": True,
    "REGEXMATCH('abcd', 'ABC')": False,
    "REGEXMATCH('abcd', '(')": UNDEFINED,
    "REGEXEXTRACT('SKU-93821-BLUE', '[0-9]+')": "93821",
    "REGEXEXTRACTALL('A12-B34-C56', '[0-9]+')": ["12", "34", "56"],
    "REPLACE('aXbX', 'X', 'yy')": "ayybyy",
    "REPLICATE('ab', 3)": "ababab",
    "REPLICATE('ab', -1)": UNDEFINED,
    "REVERSE('abc')": "cba",
    "SUBSTRING('AdventureWorks', 9, 100)": "Works",
    "SUBSTRING('AdventureWorks', 0, -1)": "",
    "SUBSTRINGAFTER('a/b/c', '/')": "b/c",
    "LASTSUBSTRINGBEFORE('A-B-C', '-')": "A-B",
    "StringJoin(['6', '7'], 'A')": "6A7",
    "StringSplit('Road Bike', ' ')": ["Road", "Bike"],
    "ToString([1, 2, 3])": "[1,2,3]",
    "ToString(null)": "null",
    "ToString('x')": "x",
    "ToString(undefined)": UNDEFINED,
    "StringToArray('[1, \"a\"]')": [1, "a"],
    "StringToBoolean(' false ')": False,
    "StringToBoolean(true)": UNDEFINED,
    "StringToNull(' null ')": None,
    "StringToNumber(' 60 ')": 60,
    "StringToNumber('Hello')": UNDEFINED,
    'StringToObject(\'{"a": [1]}\')': {"a": [1]},
}

NUMBERS = {
    "ABS(-1)": 1,
    "ABS('x')": UNDEFINED,
    "ACOS(2)": UNDEFINED,
    "ATN2(35.175643, 129.44)": pytest.approx(0.265344532064832),
    "CEILING(-45.72)": -45,
    "FLOOR(-45.72)": -46,
    "COT(124.1332)": pytest.approx(-0.040311998371148884),
    "DEGREES(PI())": 180,
    "EXP(0)": 1,
    "LOG(2, 10)": pytest.approx(0.3010299956639812),
    "LOG10(100)": 2,
    "POWER(2, 3)": 8,
    "POWER(2, null)": UNDEFINED,
    "ROUND(2.5)": 3,
    "ROUND(-6.5)": -7,
    "SIGN(-3)": -1,
    "SQRT(9)": 3,
    "SQUARE(3)": 9,
    "TRUNC(-2.6)": -2,
    "NumberBin(37.752, 10)": 30,
    "NumberBin(37.752, 0)": UNDEFINED,
    "IntAdd(20, 10)": 30,
    "IntAdd(20, 0.1)": UNDEFINED,
    "IntDiv(1, 0)": UNDEFINED,
    "IntMod(12, -5)": 2,
    "IntMod(-12, -5)": -2,
    "IntBitNot(65)": -66,
    "IntBitLeftShift(16, 4)": 256,
}

ARRAYS = {
    "ARRAY_CONCAT([1], [2, [3]])": [1, 2, [3]],
    "ARRAY_CONCAT([1], 2)": UNDEFINED,
    "ARRAY_CONTAINS([1, {'a': 1}], {'a': 1})": True,
    "ARRAY_CONTAINS([{'a': 1, 'b': 2}], {'a': 1})": False,
    "ARRAY_CONTAINS([{'a': 1, 'b': 2}], {'a': 1}, true)": True,
    "ARRAY_CONTAINS('x', 'x')": UNDEFINED,
    "ARRAY_CONTAINS_ANY([1, 2, 3, 4], 1, undefined)": True,
    "ARRAY_CONTAINS_ANY([1, 2, 3, 4], 5, undefined)": UNDEFINED,
    "ARRAY_CONTAINS_ALL([1, 2, 3, 4], 5, undefined)": False,
    "ARRAY_LENGTH([1, [2, 3]])": 2,
    "ARRAY_LENGTH(null)": UNDEFINED,
    "ARRAY_SLICE([1, 2, 3, 4], 1, 2)": [2, 3],
    "ARRAY_SLICE([1, 2, 3, 4], -3)": [2, 3, 4],
    "ARRAY_SUM([1, 2, 3])": 6,
    "ARRAY_AVG([1, 2])": 1.5,
    "ARRAY_MEDIAN([4, 1, 3, 2])": 2.5,
    "ARRAY_MAX([12, 'abc', true, null])": "abc",
    "ARRAY_MIN([12, 'abc', true, null])": None,
    "CHOOSE(2, 'a', 'b')": "b",
    "CHOOSE(3, 'a', 'b')": UNDEFINED,
    "ObjectToArray({'a': 1})": [{"k": "a", "v": 1}],
    "ObjectToArray({'a': 1}, 'name', 'is')": [{"name": "a", "is": 1}],
    "SetUnion([1, 2, 2], [3])": [1, 2, 3],
    "SetDifference([1, 1, 1, 1], [2, 3, 4])": [1],
    "SetEqual([1, 2, 2], [2, 1])": True,
}

TYPES = {
    "IS_ARRAY([])": True,
    "IS_BOOL(0)": False,
    "IS_BOOLEAN(true)": True,
    "IS_DEFINED(null)": True,
    "IS_DEFINED(undefined)": False,
    "IS_NULL(undefined)": False,
    "IS_NUMBER('1')": False,
    "IS_OBJECT([])": False,
    "IS_PRIMITIVE(null)": True,
    "IS_STRING('')": True,
    "IS_INTEGER(9223372036854775807)": True,
    "IS_INTEGER(18446744073709551615)": False,
    "IS_INTEGER(1.5)": False,
    "IS_FINITE_NUMBER(8.9 / 0.0)": False,
    "IS_DATETIME('2020-01-01')": True,
    "IS_DATETIME('2020-01-01T20Z')": False,
    "IIF(123, 'x', 'y')": "y",
    "IIF(true, 1, undefined)": 1,
}

TIMES = {
    "DateTimeAdd('mm', 1, '2020-07-03T00:00:00.0000000')": "2020-08-03T00:00:00.0000000Z",
    "DateTimeBin('2021-01-08T18:35:00.0000000', 'hh', 5)": "2021-01-08T15:00:00.0000000Z",
    "DateTimeDiff('dd', '2020-01-01', '2020-02-01')": 31,
    "DateTimeFromParts(2020, 9, 4)": "2020-09-04T00:00:00.0000000Z",
    "DateTimeFromParts(-2020, 9, 4)": UNDEFINED,
    "DateTimePart('ms', '2016-05-29T08:30:00.1301617')": 130,
    "DateTimePart('ns', '2016-05-29T08:30:00.1301617')": 130161700,
    "DateTimePart('nonsense', '2016-05-29')": UNDEFINED,
    "Year('2016-05-29')": 2016,
    "DateTimeToTimestamp('1970-01-02T00:00:00Z')": 86400000,
    "DateTimeToTicks('1970-01-01T00:00:01Z')": 10000000,
    "TicksToDateTime(-116444736000000000)": "1601-01-01T00:00:00.0000000Z",
    "TimestampToDateTime(86400000)": "1970-01-02T00:00:00.0000000Z",
    "IS_DATETIME(GetCurrentDateTime())": True,
    "GetCurrentTimestamp() > 1600000000000": True,
}

PLACES = {
    "ST_ISVALID({'type': 'Point', 'coordinates': [0, 91]})": False,
    "ST_DISTANCE({'type': 'Point', 'coordinates': [1, 2]}, "
    "{'type': 'Point', 'coordinates': [1, 2]})": 0,
    "ST_WITHIN({'type': 'Point', 'coordinates': [1, 1]}, {'type': 'Polygon', 'coordinates': "
    "[[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]})": True,
    "ST_WITHIN({'type': 'Point', 'coordinates': [3, 1]}, {'type': 'Polygon', 'coordinates': "
    "[[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]})": False,
}

OPERATORS = {
    "7 / 2": 3.5,
    "-7 % 3": -1,
    "1 + '1'": UNDEFINED,
    "'a' || 'b'": "ab",
    "'a' || 1": UNDEFINED,
    "100 & 1000": 96,
    "100 | 1000": 1004,
    "100 ^ 1000": 908,
    "100 << 2": 400,
    "100 >>> 0": 100,
    "1 / 0": UNDEFINED,
    "null ?? 1": None,
    "undefined ?? 1": 1,
    "true ? 'a' : 'b'": "a",
    "1 ? 'a' : 'b'": "b",
    "1 = 1.0": True,
    "1 = '1'": False,
    "1 != '1'": True,
    "1 < '1'": UNDEFINED,
    "null <= null": True,
    "[1, {'a': 2}] = [1, {'a': 2}]": True,
    "{'a': 1, 'b': 2} = {'b': 2, 'a': 1}": True,
    "[1] < [2]": UNDEFINED,
    "undefined = 1": UNDEFINED,
    "undefined AND false": False,
    "undefined OR true": True,
    "undefined AND true": UNDEFINED,
    "NOT 1": UNDEFINED,
    "2 BETWEEN 1 AND 3": True,
    "2 IN (1, 3)": False,
    "2 NOT IN (1, 3)": True,
    "'abc' LIKE 'a%'": True,
    "'abc' LIKE '_b[a-d]'": True,
    "'abc' LIKE 'A%'": False,
    "'a%' LIKE 'a!%' ESCAPE '!'": True,
    "1 LIKE '1'": UNDEFINED,
    "[1, undefined, null]": [1, None],
    "{'a': undefined, b: 1}": {"b": 1},
    "[1, 2][1]": 2,
    "{'a': {'b': 3}}.a.b": 3,
    "'text'.length": UNDEFINED,
    "9007199254740991": 9007199254740991,
    "'\\u00e9\\n'": "é\n",
}

EVERYTHING = {**STRINGS, **NUMBERS, **ARRAYS, **TYPES, **TIMES, **PLACES, **OPERATORS}


@pytest.mark.parametrize("expression, expected", EVERYTHING.items(), ids=EVERYTHING.keys())
def test_value(mixed_container, expression, expected):
    found = rows(mixed_container, f"SELECT VALUE {expression}", partition_key=HOT_KEY)
    assert found == ([] if expected is UNDEFINED else [expected])


def test_over_properties(mixed_container):
    query = (
        "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'i00') "
        "AND ARRAY_LENGTH(c.tags) = 3 ORDER BY c.n"
    )
    wanted = [row for row in DOCUMENTS if row["id"].startswith("i00") and len(row["tags"]) == 3]
    assert rows(mixed_container, query) == [row["id"] for row in wanted]


def test_names_in_any_case(mixed_container):
    query = (
        "SELECT lower('A') AS a, Is_Defined(c.id) AS b, array_LENGTH(c.tags) AS n "
        "FROM c WHERE c.n = 3"
    )
    assert rows(mixed_container, query) == [{"a": "a", "b": True, "n": 3}]


def test_document_number(mixed_container):
    query = "SELECT c.n, DOCUMENTID(c) AS number FROM c"
    found = sorted(rows(mixed_container, query, partition_key=HOT_KEY), key=lambda row: row["number"])
    assert all(isinstance(row["number"], int) for row in found)
    assert [row["n"] for row in found] == [row["n"] for row in HOT_DOCUMENTS]
