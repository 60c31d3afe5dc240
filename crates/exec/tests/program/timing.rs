//! Measures the cost of a scan per document.

use std::time::Instant;

use bytes::Bytes;
use orrery_exec::{InputDocument, PageLimits};
use orrery_json::parse_fields;

use super::support::program;

/// A document of about a kilobyte with 14 properties.
fn sample(n: usize) -> Bytes {
    let filler = "lorem ipsum dolor sit amet, consectetur adipiscing elit ".repeat(4);
    Bytes::from(format!(
        concat!(
            r#"{{"id":"item-{n:06}","pk":"tenant-{tenant}","n":{n},"price":12.75,"active":true,"#,
            r#""tags":["red","green","blue"],"name":"name {name}","description":"{filler}","#,
            r#""address":{{"street":"Some Street 12","city":"Town","zip":"12345"}},"#,
            r#""notes":"{filler}","more":"{filler}","#,
            r#""_rid":"AAAAAAAAAAABAAAAAAAAAA==","_etag":"\"00000000-0000-0000-0000-000000000000\"","#,
            r#""_ts":1700000000}}"#,
        ),
        n = n,
        filler = filler,
        tenant = n % 7,
        name = n * 7919 % 1000,
    ))
}

#[test]
#[ignore = "a measurement, for a release build"]
fn time_of_a_scan() {
    let texts: Vec<Bytes> = (0..2_000).map(sample).collect();
    let limits = PageLimits {
        items_max: 100,
        bytes_max: 4 << 20,
        deadline: None,
        now_ticks: 0,
        position_bytes_max: 480,
    };
    for text in [
        "SELECT * FROM c WHERE c.n = -5",
        "SELECT * FROM c WHERE c.n = -5 AND c.pk = 'x'",
        "SELECT * FROM c WHERE c.name = 'x' AND c.n > 5",
        "SELECT TOP 10 * FROM c ORDER BY c.n",
        "SELECT TOP 10 * FROM c ORDER BY c.name DESC",
        "SELECT VALUE COUNT(1) FROM c WHERE c.n > 5",
        "SELECT VALUE SUM(c.price) FROM c",
        "SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk",
        "SELECT DISTINCT c.name FROM c",
        "SELECT VALUE COUNT(1) FROM c WHERE CONTAINS(UPPER(CONCAT(c.name, c.pk)), 'X')",
        "SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags WHERE t LIKE '%e%'",
        "SELECT VALUE COUNT(1) FROM c WHERE ARRAY_LENGTH(ARRAY(SELECT t, c.n FROM t IN c.tags)) = 3",
    ] {
        let program = program(text);
        let fields = program.fields().expect("parts");
        let rounds = u32::try_from(texts.len()).expect("few");
        let batches = (0..10).map(|_| {
            let mut page = program.page(None, limits).expect("a page");
            let start = Instant::now();
            for (index, text) in texts.iter().enumerate() {
                let value = parse_fields(text, fields).expect("a document");
                let document = InputDocument {
                    value: &value,
                    rid: index as u64,
                    text,
                    scan_position: &(index as u64).to_be_bytes(),
                };
                page.push(document).expect("no failure");
            }
            start.elapsed() / rounds
        });
        eprintln!("{text}: {:?}", batches.min().expect("batches"));
    }
}
