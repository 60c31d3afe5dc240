//! One condition over every item: as a function of the container, and written in the query.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::Bench;
use super::client::Client;
use super::report::FunctionReport;
use crate::median::median;
use crate::request::ScriptKind;

const FUNCTION: &str = "function (n) { return n % 2 === 1; }";
const CALLED: &str = "SELECT VALUE COUNT(1) FROM c WHERE udf.odd(c.n)";
/// No index knows remainders: both look at every item.
const WRITTEN: &str = "SELECT VALUE COUNT(1) FROM c WHERE c.n % 2 = 1";
const PARTITIONS: u64 = 100;
const BATCH_ITEMS: u64 = 100;

pub(super) async fn measure(bench: &Bench<'_>) -> Result<FunctionReport> {
    let mut client = bench.client("function").await?;
    let source = ScriptKind::Function;
    client.register(source, "odd", FUNCTION).await?;
    let items = bench.options.items();
    load(&mut client, items).await?;
    let (mut written, mut called) = (Vec::new(), Vec::new());
    // The first round fills caches.
    for round in 0..=bench.options.rounds {
        for (text, times) in [(WRITTEN, &mut written), (CALLED, &mut called)] {
            let begun = Instant::now();
            let rows = client.query(text).await?;
            let took = begun.elapsed().as_secs_f64() * 1e3;
            ensure!(rows == serde_json::json!([items / 2]), "{text}: {rows}");
            if round > 0 {
                times.push(took);
            }
        }
    }
    let (written_ms, called_ms) = (median(&written), median(&called));
    Ok(FunctionReport {
        items,
        written_ms,
        called_ms,
        added_us: (called_ms - written_ms) * 1e3 / items as f64,
    })
}

async fn load(client: &mut Client, items: u64) -> Result<()> {
    for first in (0..items).step_by(usize::try_from(BATCH_ITEMS)?) {
        let key = format!("p{}", first / BATCH_ITEMS % PARTITIONS);
        let mut body = String::new();
        for n in first..(first + BATCH_ITEMS).min(items) {
            body.push(if body.is_empty() { '[' } else { ',' });
            write!(
                body,
                r#"{{"operationType":"Create","resourceBody":{{"id":"{n}","pk":"{key}","n":{n}}}}}"#
            )?;
        }
        body.push(']');
        client.batch(&key, body.as_bytes()).await?;
    }
    Ok(())
}
