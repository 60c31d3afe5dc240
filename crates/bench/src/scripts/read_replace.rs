//! Reads one item and replaces it: in one procedure, and in one batch.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::report::ReadReplaceReport;
use super::{ScriptsBench, write_item};
use crate::median::median;
use crate::request::ScriptKind;

const KEY: &str = "p";
const PROCEDURE: &str = "function (id) {
    var link = __.getAltLink() + '/docs/' + id;
    __.readDocument(link, function (error, item) {
        if (error) throw error;
        item.n += 1;
        __.replaceDocument(item._self, item, function (error, item) {
            if (error) throw error;
            __.response.setBody(item.n);
        });
    });
}";

pub(super) async fn measure(bench: &ScriptsBench<'_>) -> Result<ReadReplaceReport> {
    let mut client = bench.client("read-replace").await?;
    let source = ScriptKind::Procedure;
    client.register(source, "readReplace", PROCEDURE).await?;
    let mut item = Vec::new();
    write_item(&mut item, "1", KEY, 0, bench.options.value_bytes);
    client.create(KEY, &item).await?;
    let mut batch = br#"[{"operationType":"Read","id":"1"},"#.to_vec();
    batch.extend_from_slice(br#"{"operationType":"Replace","id":"1","resourceBody":"#);
    batch.extend_from_slice(&item);
    batch.extend_from_slice(b"}]");

    let mut rounds = Vec::new();
    let warmup = Duration::from_secs(bench.options.warmup);
    for round in 0..bench.options.rounds {
        let mut sides = [Vec::new(), Vec::new()];
        let warmup = if round == 0 { warmup } else { Duration::ZERO };
        // The sides alternate on one connection and on one item.
        for (is_batch, times) in [true, false].into_iter().zip(&mut sides) {
            let begun = Instant::now();
            while times.is_empty() || begun.elapsed() < warmup + bench.slice() {
                let sent = Instant::now();
                if is_batch {
                    client.batch(KEY, &batch).await?;
                } else {
                    let counted = client.execute("readReplace", KEY, br#"["1"]"#).await?;
                    ensure!(!counted.is_empty(), "the procedure set no body");
                }
                // The first operations of the warm-up compile the procedure and fill the caches.
                if begun.elapsed() >= warmup {
                    times.push(sent.elapsed().as_secs_f64() * 1e6);
                }
            }
        }
        rounds.push(sides.map(|times| median(&times)));
    }
    let batch_us = median(&rounds.iter().map(|round| round[0]).collect::<Vec<_>>());
    let procedure_us = median(&rounds.iter().map(|round| round[1]).collect::<Vec<_>>());
    let ratios: Vec<_> = rounds.iter().map(|round| round[1] / round[0]).collect();
    Ok(ReadReplaceReport {
        batch_us,
        procedure_us,
        ratio: median(&ratios),
        ratios,
    })
}
