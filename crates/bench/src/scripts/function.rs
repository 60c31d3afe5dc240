//! One condition over every item: as a user-defined function, and written in the query.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::ScriptsBench;
use super::client::ScriptClient;
use super::report::FunctionReport;
use crate::median::median;
use crate::request::ScriptKind;

/// The function costs nearly nothing itself, so the figure is the cost of a call.
const FUNCTION: &str = "function (n) { return n % 2 === 1; }";
/// The query that calls the function.
const CALLED: &str = "SELECT VALUE COUNT(1) FROM c WHERE udf.odd(c.n)";
/// An index has no remainders, so both queries read every item.
const WRITTEN: &str = "SELECT VALUE COUNT(1) FROM c WHERE c.n % 2 = 1";
/// The logical partitions of the items.
const PARTITIONS: u64 = 100;
/// The items of one batch.
const BATCH_ITEMS: u64 = 100;

/// Measures both queries in turns.
pub(super) async fn measure(bench: &ScriptsBench<'_>) -> Result<FunctionReport> {
    let mut client = bench.client("function").await?;
    let source = ScriptKind::Function;
    client.register(source, "odd", FUNCTION).await?;
    let items = bench.options.items();
    load(&mut client, items).await?;
    let (mut written, mut called) = (Vec::new(), Vec::new());
    // The first round fills the caches and is not counted.
    for round in 0..=bench.options.rounds {
        for (text, times) in [(WRITTEN, &mut written), (CALLED, &mut called)] {
            let begun = Instant::now();
            let rows = client.query(text).await?;
            let duration = begun.elapsed().as_secs_f64() * 1e3;
            // A wrong count means that one side skipped items.
            ensure!(rows == serde_json::json!([items / 2]), "{text}: {rows}");
            if round > 0 {
                times.push(duration);
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

/// Loads the items in batches, each of one logical partition.
async fn load(client: &mut ScriptClient, items: u64) -> Result<()> {
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
