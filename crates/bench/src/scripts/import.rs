//! Ten thousand creates, a hundred in each call: a stored procedure as the guides write it, and
//! transactional batches.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::report::ImportReport;
use super::{ScriptsBench, write_item};
use crate::median::median;
use crate::request::ScriptKind;

/// The items of one round.
const ITEMS: u64 = 10_000;
/// The items of one call, which is the limit of a batch.
const CALL_ITEMS: u64 = 100;
const PROCEDURE: &str = "function (items) {
    var link = __.getSelfLink(), done = 0;
    function next() {
        if (done === items.length || !__.createDocument(link, items[done], created)) {
            __.response.setBody(done);
        }
    }
    function created(error) {
        if (error) throw error;
        done += 1;
        next();
    }
    next();
}";

/// Measures both kinds of import in turns.
pub(super) async fn measure(bench: &ScriptsBench<'_>) -> Result<ImportReport> {
    let mut client = bench.client("import").await?;
    let source = ScriptKind::Procedure;
    client.register(source, "import", PROCEDURE).await?;
    let items = bench.options.items().min(ITEMS);
    let (mut batches, mut procedures) = (Vec::new(), Vec::new());
    let mut body = Vec::new();
    for round in 0..bench.options.rounds {
        for (is_batch, rates) in [(true, &mut batches), (false, &mut procedures)] {
            // Both sides write into new logical partitions, so that neither replaces items.
            let key = format!("{}{round}", if is_batch { "b" } else { "s" });
            let begun = Instant::now();
            for first in (0..items).step_by(usize::try_from(CALL_ITEMS)?) {
                let numbers = first..(first + CALL_ITEMS).min(items);
                let count = numbers.end - numbers.start;
                body.clear();
                body.extend_from_slice(if is_batch { b"[" } else { b"[[" });
                for number in numbers {
                    if number > first {
                        body.push(b',');
                    }
                    if is_batch {
                        let head = br#"{"operationType":"Create","resourceBody":"#;
                        body.extend_from_slice(head);
                    }
                    let id = format!("{number}");
                    write_item(&mut body, &id, &key, number, bench.options.value_bytes);
                    if is_batch {
                        body.push(b'}');
                    }
                }
                body.extend_from_slice(if is_batch { b"]" } else { b"]]" });
                if is_batch {
                    client.batch(&key, &body).await?;
                } else {
                    let done = client.execute("import", &key, &body).await?;
                    let done = String::from_utf8_lossy(done).into_owned();
                    // A procedure stops early when its time is over, and still succeeds.
                    ensure!(done == count.to_string(), "{done} of {count} were created");
                }
            }
            rates.push(items as f64 / begun.elapsed().as_secs_f64());
        }
    }
    let ratios: Vec<_> = batches
        .iter()
        .zip(&procedures)
        .map(|(batch, procedure)| procedure / batch)
        .collect();
    Ok(ImportReport {
        items,
        batch_per_second: median(&batches),
        procedure_per_second: median(&procedures),
        ratio: median(&ratios),
        ratios,
    })
}
