//! The printed table in Markdown, with one row for each attack.

use std::time::Duration;

use crate::attack::Tally;
use crate::attacks::ATTACKS;
use crate::honest::HonestResults;

/// The figures of one attack, or of all attacks at once, that a row of the table shows.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) connections: usize,
    pub(crate) tally: Tally,
    pub(crate) memory_before: u64,
    pub(crate) memory_peak: u64,
    pub(crate) memory_after: u64,
    pub(crate) honest: HonestResults,
}

/// Prints all attacks with the credential and the input of each.
pub(crate) fn print_attacks() {
    println!("| attack | credential | input |");
    println!("|---|---|---|");
    for attack in ATTACKS {
        println!(
            "| {} | {} | {} |",
            attack.name, attack.credential, attack.input
        );
    }
}

pub(crate) fn print_header() {
    println!(
        "| attack | connections | rounds | outcomes | MB before | MB at most | MB after | p99 of honest reads | honest failures |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
}

pub(crate) fn print_row(row: &Row) {
    println!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.name,
        row.connections,
        row.tally.rounds,
        outcomes(&row.tally),
        megabytes(row.memory_before),
        megabytes(row.memory_peak),
        megabytes(row.memory_after),
        latency(p99(&row.honest)),
        row.honest.failures,
    );
}

/// Lists the outcomes in the order of their names.
fn outcomes(tally: &Tally) -> String {
    let parts = tally
        .outcomes
        .iter()
        .map(|(name, count)| format!("{name}: {count}"));
    parts.collect::<Vec<_>>().join(", ")
}

pub(crate) fn megabytes(bytes: u64) -> u64 {
    bytes / 1_000_000
}

/// The 99th percentile of the latency of honest reads.
pub(crate) fn p99(results: &HonestResults) -> Duration {
    Duration::from_micros(results.reads.value_at_quantile(0.99))
}

pub(crate) fn latency(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}
