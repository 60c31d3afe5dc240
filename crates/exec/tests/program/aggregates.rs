//! Aggregates over the whole scope.

use orrery_json::{Value, parse_bounded};

use super::support::{Scope, json};

#[test]
fn aggregates_over_values_of_all_types() {
    Scope::new(&[
        r#"{"a":1,"b":"x","n":null,"m":[1],"f":true}"#,
        r#"{"a":2,"b":"y","n":null,"m":{"k":1},"f":false}"#,
        r#"{"a":3,"b":"x","f":1}"#,
        r#"{"b":9007199254740993}"#,
    ])
    .check(&[
        ("SELECT VALUE COUNT(1) FROM c", "[4]"),
        ("SELECT VALUE Count(c.n) FROM c", "[2]"),
        ("SELECT VALUE COUNTIF(c.f) FROM c", "[1]"),
        ("SELECT VALUE COUNTIF(c.a > 1) FROM c", "[2]"),
        ("SELECT VALUE SUM(c.a) FROM c", "[6]"),
        ("SELECT VALUE AVG(c.a) FROM c", "[2]"),
        ("SELECT VALUE SUM(c.b) FROM c", "[]"),
        ("SELECT VALUE MIN(c.b) FROM c", "[9007199254740993]"),
        ("SELECT VALUE MAX(c.b) FROM c", r#"["y"]"#),
        ("SELECT VALUE MIN(c.m) FROM c", "[]"),
        ("SELECT VALUE MAKELIST(c.a) FROM c", "[[1,2,3]]"),
        (
            "SELECT VALUE MAKESET(c.b) FROM c",
            r#"[["x","y",9007199254740993]]"#,
        ),
        (
            "SELECT COUNT(1) AS n, MAX(c.a), MIN(c.z) FROM c",
            r#"[{"n":4,"$1":3}]"#,
        ),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.a > 7", "[0]"),
        ("SELECT VALUE SUM(c.a) FROM c WHERE false", "[0]"),
        ("SELECT VALUE AVG(c.a) FROM c WHERE false", "[]"),
        (
            "SELECT AVG(c.a), MAKELIST(c.a) FROM c WHERE false",
            r#"[{"$2":[]}]"#,
        ),
        ("SELECT VALUE SUM(c.a) + COUNT(1) * 10 FROM c", "[46]"),
        ("SELECT VALUE COUNT(1) FROM c JOIN m IN c.m", "[1]"),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.b FROM c)",
            "[3]",
        ),
        (
            "SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.b FROM c) AS s",
            r#"[{"n":3}]"#,
        ),
        ("SELECT TOP 1 COUNT(1) AS n FROM c", r#"[{"n":4}]"#),
        ("SELECT VALUE COUNT(1) FROM c OFFSET 1 LIMIT 1", "[]"),
        ("SELECT VALUE COUNT(1) FROM c ORDER BY c.a DESC", "[4]"),
    ]);
    Scope::new(&[]).check(&[(
        "SELECT COUNT(1) AS n, SUM(c.a) AS s FROM c",
        r#"[{"n":0,"s":0}]"#,
    )]);
}

#[test]
fn recorded_matrix_of_types() {
    let data = include_bytes!("../data/function-vectors.json");
    let data = parse_bounded(data, 128).unwrap();
    let matrix = data.get("aggregateTypeMatrix").as_array().unwrap();
    assert_eq!(matrix.len(), 45);
    for case in matrix {
        let inputs = case.get("inputs").as_str().unwrap();
        let values = match inputs {
            "arrays" => "[[1],[]]",
            "booleans" => "[true,false]",
            "nulls" => "[null,null]",
            "numbers" => "[1,2.5]",
            "objects" => r#"[{},{"a":1}]"#,
            "strings" => r#"["a","b"]"#,
            "all defined types mixed" => r#"[1,"a",null,true,[],{}]"#,
            "primitives mixed" => r#"[1,"a",null,true]"#,
            "undefined only" => "[]",
            other => panic!("{other}"),
        };
        let mut documents = vec![json("{}")];
        for value in json(values).as_array().unwrap() {
            documents.push(json(&format!(r#"{{"v":{value}}}"#)));
        }
        let aggregate = case.get("aggregate").as_str().unwrap();
        let rows = Scope::of(documents).rows(&format!("SELECT VALUE {aggregate}(c.v) FROM c"));
        match case.get("result") {
            Value::String(word) => {
                assert_eq!(rows.is_empty(), word == "undefined", "{aggregate} {inputs}");
            }
            expected => assert_eq!(rows, std::slice::from_ref(expected), "{aggregate} {inputs}"),
        }
    }
}
