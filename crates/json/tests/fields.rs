//! The partial parser against the full parser.

use std::hint::black_box;
use std::time::Instant;

use orrery_json::{FieldMask, FieldStep, Value, parse, parse_fields};
use proptest::prelude::*;

type Steps = Vec<FieldStep<'static>>;

fn steps(path: &str) -> Steps {
    let steps = path.split('.').filter(|step| !step.is_empty());
    steps
        .map(|step| match step {
            "[]" => FieldStep::Element,
            name => FieldStep::Name(name.to_owned().into()),
        })
        .collect()
}

fn fields(paths: &[&str]) -> FieldMask {
    let mut fields = FieldMask::default();
    for path in paths {
        fields.include(steps(path));
    }
    fields
}

/// Every value at a path, with the indexes of the array elements on the way.
fn values_at(value: &Value, steps: &[FieldStep<'_>], places: &str) -> Vec<String> {
    match (steps, value) {
        ([], value) => vec![format!("{places}: {value}")],
        ([FieldStep::Name(name), rest @ ..], value) => values_at(value.get(name), rest, places),
        ([FieldStep::Element, rest @ ..], Value::Array(elements)) => elements
            .iter()
            .enumerate()
            .flat_map(|(index, element)| values_at(element, rest, &format!("{places}{index}/")))
            .collect(),
        _ => Vec::new(),
    }
}

fn check(text: &str, paths: &[&str]) {
    let whole = parse(text.as_bytes()).expect("JSON");
    let part = parse_fields(text.as_bytes(), &fields(paths)).expect("JSON");
    for path in paths {
        let steps = steps(path);
        assert_eq!(
            values_at(&part, &steps, ""),
            values_at(&whole, &steps, ""),
            "{path} of {text}"
        );
    }
}

#[test]
fn masked_values_equal_those_of_the_full_parser() {
    for text in [
        r#"{"a":1,"b":{"c":"x\"y","d":[1,{"e":2},"z"]},"f":[[1],[2,3]]}"#,
        r#"{ "z" : "}" , "a" : -1.5e3 , "b" : { "c" : { } } }"#,
        r#"{"\u0061":1,"b":{"\u0063":2}}"#,
        r#"{"a":01234567890123456789012345,"b":null}"#.replace("01234", "1234").as_str(),
        r#"{"b":{"d":[]},"a":-0,"f":[{"a":1},2]}"#,
        "[1,2]",
        "5",
        "{}",
    ] {
        for paths in [
            &["a"][..],
            &["b.c"],
            &["a", "b.d.[].e"],
            &["f.[].[]", "b.c"],
            &["b.d.[]", "f", "a.b"],
            &["missing", "a"],
            &[""],
            &[],
        ] {
            check(text, paths);
        }
    }
}

#[test]
fn the_last_of_repeated_names_counts_while_something_is_missing() {
    check(r#"{"a":1,"a":3,"b":2}"#, &["a", "b"]);
    check(r#"{"a":{"b":1},"a":2,"b":[]}"#, &["a.b", "b"]);
}

#[test]
fn damage_in_included_fields_is_refused() {
    for text in [
        "",
        "{",
        r#"{"a"#,
        r#"{"a":}"#,
        r#"{"a":tru}"#,
        r#"{"a":"\x"}"#,
        r#"{"a":1e999}"#,
    ] {
        assert_eq!(
            parse_fields(text.as_bytes(), &fields(&["a"])),
            parse(text.as_bytes()),
            "{text}"
        );
    }
}

#[test]
fn arrays_keep_length_and_indexes() {
    let mut fields = fields(&["a.[].b"]);
    fields.include_length(steps("c"));
    let text = br#"{"c":["x",{"y":[]}],"a":[1,{"b":2,"z":3},[4]]}"#;
    assert_eq!(
        parse_fields(text, &fields).unwrap().to_string(),
        r#"{"c":[null,null],"a":[null,{"b":2},null]}"#
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |x| x.is_finite())
            .prop_map(Value::from),
        "[a-c\\\\\"{}\\[\\],: \\n\u{e9}]{0,20}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        let object = prop::collection::vec(("[ab]|\"|\\\\x", inner.clone()), 0..6)
            .prop_map(|properties| Value::Object(properties.into_iter().collect()));
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::Array),
            object
        ]
    })
}

/// Adds white space between tokens.
fn spaced(text: &str) -> String {
    let mut out = String::new();
    let (mut in_string, mut is_escaped) = (false, false);
    for c in text.chars() {
        let is_token = !in_string && "{}[],:".contains(c);
        if is_token {
            out.push_str(" \n");
        }
        out.push(c);
        if is_token {
            out.push('\t');
        }
        if c == '"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_masks_over_random_documents(
        properties in prop::collection::vec(("[ab]|\"", any_json()), 0..5),
        paths in prop::collection::vec(
            prop::collection::vec(prop_oneof![Just("a"), Just("b"), Just("\""), Just("[]")], 1..4),
            0..4,
        ),
        wide: bool,
    ) {
        let document = Value::Object(properties.into_iter().collect());
        let text = document.to_string();
        let text = if wide { spaced(&text) } else { text };
        let paths: Vec<String> = paths.into_iter().map(|path| path.join(".")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        check(&text, &paths);
    }
}

/// A document of about a kilobyte with 14 properties.
fn sample() -> String {
    let filler = "lorem ipsum dolor sit amet, consectetur adipiscing elit ".repeat(4);
    let text = format!(
        concat!(
            r#"{{"id":"item-000001","pk":"tenant-17","n":5,"price":12.75,"active":true,"#,
            r#""tags":["red","green","blue"],"name":"a name of some length","description":"{filler}","#,
            r#""address":{{"street":"Some Street 12","city":"Town","zip":"12345"}},"#,
            r#""notes":"{filler}","more":"{filler}","#,
            r#""_rid":"AAAAAAAAAAABAAAAAAAAAA==","_etag":"\"00000000-0000-0000-0000-000000000000\"","#,
            r#""_ts":1700000000}}"#,
        ),
        filler = filler
    );
    assert!(text.len() > 900 && text.len() < 1100, "{}", text.len());
    text
}

#[test]
#[ignore = "a measurement, for a release build"]
fn timing_of_one_kilobyte() {
    let text = sample();
    for (name, fields) in [
        ("n", fields(&["n"])),
        ("n, price", fields(&["n", "price"])),
        ("n, _ts", fields(&["n", "_ts"])),
        ("address.city, _ts", fields(&["address.city", "_ts"])),
        ("not there", fields(&["missing"])),
        ("everything", fields(&[""])),
    ] {
        let rounds = 4_000_u32;
        let batches = (0..50).map(|_| {
            let start = Instant::now();
            for _ in 0..rounds {
                let _ = black_box(parse_fields(black_box(text.as_bytes()), &fields));
            }
            start.elapsed() / rounds
        });
        eprintln!("{name}: {:?}", batches.min().expect("batches"));
    }
}
