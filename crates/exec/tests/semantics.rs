//! The semantics of the query language, one table per rule: an expression and its value over a
//! document.

use orrery_exec::FilterQuery;
use orrery_json::{Value, parse};

const DOCUMENT: &str = r#"{
    "id": "1", "n": 3, "f": 2.5, "s": "abc", "t": true, "z": null,
    "a": [1, "x", null, [2]], "o": {"p": {"q": 1}, "value": 2}, "big": 9007199254740993
}"#;

fn value(expression: &str) -> Value {
    let query = orrery_sql::parse(&format!("SELECT VALUE {expression} FROM c"))
        .unwrap_or_else(|error| panic!("{expression}: {error}"));
    let parameters = [
        ("@n".to_owned(), parse(b"3").expect("json")),
        ("@o".to_owned(), parse(br#"{"q": 1}"#).expect("json")),
        ("@key".to_owned(), parse(br#""s""#).expect("json")),
    ];
    let query = FilterQuery::compile(&query, &parameters)
        .unwrap_or_else(|error| panic!("{expression}: {error}"));
    query.project(&parse(DOCUMENT.as_bytes()).expect("json"))
}

/// Compares with JSON text; the empty text is `undefined`.
fn check(table: &[(&str, &str)]) {
    for (expression, expected) in table {
        assert_eq!(value(expression).to_string(), *expected, "{expression}");
    }
}

#[test]
fn access() {
    check(&[
        ("c.s", r#""abc""#),
        ("c['s']", r#""abc""#),
        ("c[@key]", r#""abc""#),
        ("c['o'].p[\"q\"]", "1"),
        ("c.a[0]", "1"),
        ("c.a[3][0]", "2"),
        ("c.a[c.n][0]", "2"),
        ("c.a[4]", ""),
        ("c.a[-1]", ""),
        ("c.a[0.5]", ""),
        ("c.a['0']", ""),
        ("c.a.length", ""),
        ("c.o[0]", ""),
        ("c.missing", ""),
        ("c.missing.deeper", ""),
        ("c.s.x", ""),
        ("c.s[0]", ""),
        ("{x: 1}.x", "1"),
        ("[7, 8][1]", "8"),
        ("@o.q", "1"),
        ("c[undefined]", ""),
    ]);
}

#[test]
fn undefined_disappears() {
    check(&[
        ("undefined", ""),
        ("[1, undefined, null]", "[1,null]"),
        ("{a: 1, b: undefined, c: null}", r#"{"a":1,"c":null}"#),
        ("c.missing ?? 1", "1"),
        ("c.z ?? 1", "null"),
        ("c.missing ?? c.gone ?? 2", "2"),
        ("undefined = undefined", ""),
        ("undefined != 1", ""),
        ("undefined < 1", ""),
        ("undefined + 1", ""),
        ("undefined || 'a'", ""),
        ("undefined IN (1)", ""),
        ("undefined NOT IN (1)", ""),
        ("1 IN (undefined, 1)", "true"),
        ("1 IN (undefined, 2)", "false"),
        ("LOWER(undefined)", ""),
        ("IS_DEFINED(undefined)", "false"),
        ("{a: 1, a: 2}", r#"{"a":2}"#),
    ]);
}

#[test]
fn logic_has_three_values() {
    let operands = ["true", "false", "undefined"];
    let and = [
        ["true", "false", ""],
        ["false", "false", "false"],
        ["", "false", ""],
    ];
    let or = [
        ["true", "true", "true"],
        ["true", "false", ""],
        ["true", "", ""],
    ];
    for (i, left) in operands.iter().enumerate() {
        for (j, right) in operands.iter().enumerate() {
            check(&[
                (&format!("{left} AND {right}"), and[i][j]),
                (&format!("{left} OR {right}"), or[i][j]),
            ]);
        }
    }
    check(&[
        ("NOT true", "false"),
        ("NOT false", "true"),
        ("NOT undefined", ""),
        ("NOT 1", ""),
        ("NOT null", ""),
        ("1 AND true", ""),
        ("1 AND false", "false"),
        ("null OR true", "true"),
        ("'' OR false", ""),
        ("true AND undefined AND false", "false"),
        ("true ? 1 : 2", "1"),
        ("false ? 1 : 2", "2"),
        ("undefined ? 1 : 2", "2"),
        ("1 ? 1 : 2", "2"),
        ("null ? 1 : 2", "2"),
        ("NOT c.n = 3", ""),
        ("NOT (c.n = 3)", "false"),
    ]);
}

#[test]
fn equality() {
    check(&[
        ("1 = 1.0", "true"),
        ("1 = '1'", "false"),
        ("1 != '1'", "true"),
        ("1 <> 1", "false"),
        ("null = null", "true"),
        ("null = false", "false"),
        ("c.s != null", "true"),
        ("NOT (c.s = null)", "true"),
        ("'a' = 'A'", "false"),
        ("[1, 2] = [1, 2]", "true"),
        ("[1, 2] = [2, 1]", "false"),
        ("{a: 1, b: [2]} = {b: [2], a: 1}", "true"),
        ("{a: 1} = {a: 1, b: 2}", "false"),
        ("c.o.p = @o", "true"),
        ("NaN = NaN", "false"),
        ("NaN != NaN", "true"),
        ("1 = 1 = true", "true"),
        ("9007199254740993 = 9007199254740992", "false"),
        ("c.big = 9007199254740993", "true"),
    ]);
}

#[test]
fn order() {
    check(&[
        ("1 < 2", "true"),
        ("2 <= 1", "false"),
        ("'a' < 'b'", "true"),
        ("'b' > 'a'", "true"),
        ("'Z' < 'a'", "true"),
        ("'\\ud800\\udc00' < '\\ue000'", "true"),
        ("false < true", "true"),
        ("null < null", "false"),
        ("null <= null", "true"),
        ("null >= null", "true"),
        ("1 < '2'", ""),
        ("null < 1", ""),
        ("false < 1", ""),
        ("[1] < [2]", ""),
        ("{} <= {}", ""),
        ("NaN < 1", "false"),
        ("2 BETWEEN 1 AND 3", "true"),
        ("1 BETWEEN 1 AND 1", "true"),
        ("4 BETWEEN 1 AND 3", "false"),
        ("4 NOT BETWEEN 1 AND 3", "true"),
        ("'b' BETWEEN 'a' AND 'c'", "true"),
        ("'b' BETWEEN 1 AND 'c'", ""),
        ("'d' BETWEEN 1 AND 'c'", "false"),
        ("undefined NOT BETWEEN 1 AND 2", ""),
    ]);
}

#[test]
fn membership() {
    check(&[
        ("c.n IN (1, 2, 3)", "true"),
        ("c.n NOT IN (1, 2, 3)", "false"),
        ("c.n IN ('3')", "false"),
        ("c.n IN (@n)", "true"),
        ("null IN (null)", "true"),
        ("[1] IN ([2], [1])", "true"),
        ("c.o.p IN (@o)", "true"),
    ]);
}

#[test]
fn arithmetic() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("7 / 2", "3.5"),
        ("6 / 2", "3"),
        ("7 % 3", "1"),
        ("-7 % 3", "-1"),
        ("7 % -3", "1"),
        ("5.5 % 2", "1.5"),
        ("1 - 2", "-1"),
        ("-c.n", "-3"),
        ("+c.n", "3"),
        ("-(-c.n)", "3"),
        ("- 'a'", ""),
        ("+ true", ""),
        ("'a' + 'b'", ""),
        ("1 + null", ""),
        ("9007199254740992 + 1", "9007199254740993"),
        ("9223372036854775807 + 1", "9223372036854775808"),
        ("1 / 0", ""),
        ("[1 / 0, 0 / 0, 1 % 0, 1]", "[1]"),
        ("{a: -1 / 0, b: 2}", r#"{"b":2}"#),
        ("IS_NUMBER(1 / 0)", "true"),
        ("1 / 0 > 5", "true"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("'a' || 'b' || 'c'", r#""abc""#),
        ("'a' || 1", ""),
    ]);
}

#[test]
fn bits() {
    check(&[
        ("100 & 1000", "96"),
        ("100 | 1000", "1004"),
        ("100 ^ 1000", "908"),
        ("100 << 2", "400"),
        ("100 >> 2", "25"),
        ("100 >>> 0", "100"),
        ("-100 >> 1", "-50"),
        ("-1 >>> 0", "-1"),
        ("9007199254740993 | 1", "1"),
        ("-100 >>> 1", "2147483598"),
        ("1 << 31", "-2147483648"),
        ("1 << 33", "2"),
        ("4294967297 & 3", "1"),
        ("~1", "-2"),
        ("~3.7", "-4"),
        ("~NaN", "-1"),
        ("1e300 & 1", "0"),
        ("~'a'", ""),
        ("1 & 'a'", ""),
        ("c.n & 1 != 0", "true"),
    ]);
}

#[test]
fn like() {
    check(&[
        ("c.s LIKE 'a%'", "true"),
        ("c.s LIKE '_b_'", "true"),
        ("c.s NOT LIKE '%z%'", "true"),
        ("c.s LIKE 'a' || '%'", "true"),
        ("c.s LIKE c.s", "true"),
        ("'a%' LIKE 'a!%' ESCAPE '!'", "true"),
        ("c.n LIKE '3'", ""),
        ("c.s LIKE 3", ""),
        ("c.missing NOT LIKE 'a'", ""),
    ]);
}

#[test]
fn only_true_passes_where() {
    let document = parse(DOCUMENT.as_bytes()).unwrap();
    for (filter, expected) in [
        ("true", true),
        ("c.t", true),
        ("c.n = 3 AND c.s = 'abc'", true),
        ("(true)", true),
        ("false", false),
        ("undefined", false),
        ("null", false),
        ("1", false),
        ("'true'", false),
        ("c.o", false),
        ("c.missing = 1", false),
        ("c.missing != 1", false),
        ("NOT (c.missing = 1)", false),
        ("NOT IS_DEFINED(c.missing)", true),
        ("c.n > 'a'", false),
    ] {
        let query = orrery_sql::parse(&format!("SELECT * FROM c WHERE {filter}")).unwrap();
        let query = FilterQuery::compile(&query, &[]).unwrap();
        assert_eq!(query.matches(&document), expected, "{filter}");
    }
}

/// The stack of a server thread suffices for the highest trees of the parser.
#[test]
fn height_is_no_danger() {
    let nested = |open: &str, close: &str| {
        let expression = format!("{}c.n{}", open.repeat(250), close.repeat(250));
        assert!(!value(&expression).is_undefined(), "{open}");
    };
    nested("[", "]");
    nested("1+(", ")");
    nested("ABS(", ")");
    nested("true?(", "):2");
    nested("undefined??(", ")");
    assert_eq!(value(&format!("0{}", "+1".repeat(500))), Value::from(500));
    let terms = vec!["c.n = 3"; 5_000].join(" AND ");
    assert_eq!(value(&terms), Value::Bool(true));
}

#[test]
fn products_of_texts_are_bounded() {
    let long = "a".repeat(5_000);
    let replace = format!("REPLACE('{long}', 'a', '{long}')");
    assert!(value(&replace).is_undefined());
    assert!(value(&format!("REPLICATE('{long}', 3)")).is_undefined());
    let join = format!("StringJoin(StringSplit('{long}', 'a'), '{long}')");
    assert!(value(&join).is_undefined());
}
