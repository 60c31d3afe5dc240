//! `ORDER BY`.

use super::support::Scope;

#[test]
fn types_before_values() {
    let scope = Scope::new(&[
        r#"{"id":"s","a":"b"}"#,
        r#"{"id":"u"}"#,
        r#"{"id":"n","a":null}"#,
        r#"{"id":"o","a":{}}"#,
        r#"{"id":"f","a":false}"#,
        r#"{"id":"t","a":true}"#,
        r#"{"id":"2","a":2}"#,
        r#"{"id":"r","a":[]}"#,
        r#"{"id":"1","a":1.5}"#,
    ]);
    scope.check(&[
        (
            "SELECT VALUE c.id FROM c ORDER BY c.a",
            r#"["u","n","f","t","1","2","s","r","o"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.a DESC",
            r#"["o","r","s","2","1","t","f","n","u"]"#,
        ),
        (
            "SELECT TOP 2 VALUE c.id FROM c ORDER BY c['a'] ASC",
            r#"["u","n"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c[@name] OFFSET 7 LIMIT 5",
            r#"["r","o"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c WHERE c.a > 0 ORDER BY c.a OFFSET 1 LIMIT 1",
            r#"["2"]"#,
        ),
    ]);
}

#[test]
fn arrays_and_objects_by_hash() {
    // The hashes of [], [1234], [null] and {}, {"prop":1234} as recorded begin with the bytes
    // 82, f8, 41 and d8, aa.
    Scope::new(&[
        r#"{"a":[1234]}"#,
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
        r#"{"a":{"prop":1234}}"#,
        r#"{"a":[null]}"#,
    ])
    .check(&[(
        "SELECT VALUE c.a FROM c ORDER BY c.a",
        r#"[[null],[],[1234],{"prop":1234},{}]"#,
    )]);
}

#[test]
fn ties_follow_the_resource_id_in_the_direction_of_the_first_column() {
    let scope = Scope::new(&[
        r#"{"id":"1","a":1,"b":1}"#,
        r#"{"id":"2","a":1,"b":2}"#,
        r#"{"id":"3","a":1,"b":1}"#,
        r#"{"id":"4","a":0,"b":1}"#,
    ]);
    scope.check(&[
        (
            "SELECT VALUE c.id FROM c ORDER BY c.a",
            r#"["4","1","2","3"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.a DESC",
            r#"["3","2","1","4"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.a, c.b",
            r#"["4","1","3","2"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.a, c.b DESC",
            r#"["4","2","1","3"]"#,
        ),
        (
            "SELECT VALUE c.id FROM c ORDER BY c.a DESC, c.b",
            r#"["3","1","2","4"]"#,
        ),
    ]);
}

#[test]
fn rows_of_joins_keep_their_order_within_a_document() {
    Scope::new(&[r#"{"a":2,"t":["x","y"]}"#, r#"{"a":1,"t":["z","w"]}"#]).check(&[
        (
            "SELECT VALUE t FROM c JOIN t IN c.t ORDER BY c.a",
            r#"["z","w","x","y"]"#,
        ),
        (
            "SELECT VALUE [x.a, t] FROM c x JOIN t IN x.t ORDER BY x.a DESC",
            r#"[[2,"x"],[2,"y"],[1,"z"],[1,"w"]]"#,
        ),
    ]);
}

#[test]
fn long_values_that_begin_alike() {
    let long = "long ".repeat(400);
    let mut texts = Vec::new();
    for index in [7, 3, 9, 1, 5, 1, 8] {
        texts.push(format!(r#"{{"n":{index},"a":"{long}{index}"}}"#));
    }
    texts.push(format!(r#"{{"n":10,"a":"{long}"}}"#));
    texts.push(r#"{"n":11,"a":"short"}"#.to_owned());
    texts.push(r#"{"n":0,"a":"a"}"#.to_owned());
    let scope = Scope::new(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    scope.check(&[
        (
            "SELECT VALUE c.n FROM c ORDER BY c.a",
            "[0,10,1,1,3,5,7,8,9,11]",
        ),
        (
            "SELECT VALUE c.n FROM c ORDER BY c.a DESC",
            "[11,9,8,7,5,3,1,1,10,0]",
        ),
        (
            "SELECT VALUE c.n FROM c ORDER BY c.a OFFSET 2 LIMIT 5",
            "[1,1,3,5,7]",
        ),
        (
            "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.a",
            "[0,10,1,3,5,7,8,9,11]",
        ),
    ]);
    let program = super::support::program("SELECT VALUE c.n FROM c ORDER BY c.a");
    let expected = scope.rows("SELECT VALUE c.n FROM c ORDER BY c.a");
    for items_max in [2, 3, 4, 7] {
        assert_eq!(scope.pages(&program, items_max, 1 << 20).unwrap(), expected);
    }
}
