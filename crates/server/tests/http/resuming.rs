//! Pages of an ordered query for a client that merges them.

use serde_json::{Value, json};

use crate::support::{ITEMS, QUERY, RANGE_ID, start};

const CONTINUATION: &str = "x-ms-continuation";
const CONTINUATION_LIMIT: &str = "x-ms-documentdb-responsecontinuationtokenlimitinkb";

/// The sort values are longer than a position in an index, or than a token. The client sends the token
/// that the page ended with, and the row that it gave to its user last, from which it passes over what
/// it has.
#[test]
fn ties_with_long_values_are_passed_over_once() {
    for (length, limit) in [
        (600, None),
        (600, Some("1")),
        (3000, None),
        (3000, Some("1")),
    ] {
        passed_over_once(length, limit);
    }
}

fn passed_over_once(length: usize, limit_in_kb: Option<&str>) {
    let world = start();
    let client = world.client();
    // Ten equal values, and two with the same beginning at either end.
    let begin = "x".repeat(length);
    for number in 0..14 {
        let id = format!("i{number}");
        let end = match number {
            0 | 1 => format!("a{number}"),
            12 | 13 => format!("c{number}"),
            _ => "b".to_owned(),
        };
        client.create_item(&id, "p", &json!({"l": format!("{begin}{end}")}));
    }
    let query = r#"SELECT c._rid, [{"item": c.l}] AS orderByItems, c.id AS payload FROM c
        WHERE (true) ORDER BY c.l"#;
    let ask = |count: &str, token: Option<&str>, resume: Option<Value>| {
        let mut body = json!({"query": query, "parameters": []});
        if let Some(resume) = resume {
            body["resumeFilter"] = resume;
        }
        let mut headers = vec![QUERY, (RANGE_ID, "0"), ("x-ms-max-item-count", count)];
        headers.extend(limit_in_kb.map(|limit| (CONTINUATION_LIMIT, limit)));
        headers.extend(token.map(|token| (CONTINUATION, token)));
        let page = client.request("POST", ITEMS, &headers, &body.to_string());
        let page = page.expect(200);
        let rows = page.json()["Documents"].as_array().unwrap().clone();
        (rows, page.header(CONTINUATION).map(str::to_owned))
    };
    let (expected, _) = ask("100", None, None);
    assert_eq!(expected.len(), 14);
    let (mut rows, mut token) = ask("3", None, None);
    while let Some(next) = token {
        assert!(
            limit_in_kb.is_none() || next.len() <= 1024,
            "{} bytes",
            next.len()
        );
        let last = rows.last().unwrap();
        let value = &last["orderByItems"][0]["item"];
        let resume = json!({"value": [value], "rid": last["_rid"], "exclude": false});
        let (page, after) = ask("3", Some(&next), Some(resume));
        let behind = page.into_iter().filter(|row| row != last);
        let behind: Vec<_> = behind.collect();
        rows.extend(behind);
        assert!(
            expected.starts_with(&rows),
            "{length} characters, limit {limit_in_kb:?}: {} rows",
            rows.len()
        );
        token = after;
    }
    assert_eq!(rows, expected);
}
