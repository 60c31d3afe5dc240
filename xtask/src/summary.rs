//! The table at the end, and a last line for scripts.

use std::io::IsTerminal;

use crate::counts;
use crate::outcome::{Outcome, Report, TestCounts};

const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";

/// The last lines of a failed step that the summary shows again.
const LINES_AGAIN: usize = 60;

/// Announces a step whose output appears only at its end.
pub(crate) fn print_begin(title: &str) {
    println!("\n{title} has begun");
}

/// Prints the output of a step that ran beside another one.
pub(crate) fn print_end(report: &Report) {
    let heading = paint("1", &format!("=== {} ===", report.title));
    // A single call prevents output of other steps in between.
    println!("\n{heading}\n{}", report.output);
}

/// Prints the failures again, the table, and the totals.
pub(crate) fn print(reports: &[Report]) {
    for report in reports.iter().filter(|report| report.outcome.is_failure()) {
        heading(&format!("{}: what failed", report.title));
        println!("{}", counts::failures(&report.output, LINES_AGAIN));
    }
    heading("summary");
    for report in reports {
        let (colour, verdict) = verdict(&report.outcome);
        let verdict = paint(colour, &format!("{verdict:<8}"));
        let seconds = report.elapsed.as_secs_f64();
        println!(
            "{verdict} {seconds:>8.1} s  {:<18} {}",
            report.title,
            detail(&report.outcome)
        );
    }
    // Missing suites are named last, because a reader overlooks them in the table.
    let missing: Vec<&Report> = reports
        .iter()
        .filter(|report| matches!(report.outcome, Outcome::Missing(_)))
        .collect();
    if !missing.is_empty() {
        println!(
            "\n{}",
            paint(YELLOW, "MISSING: these suites did not run at all")
        );
        for report in missing {
            let line = format!("  {}: {}", report.title, detail(&report.outcome));
            println!("{}", paint(YELLOW, &line));
        }
    }
    let total: TestCounts = reports.iter().map(|report| report.outcome.counts()).sum();
    println!("\n{} passed, {} failed", total.passed, total.failed);
}

/// Prints a heading.
pub(crate) fn heading(text: &str) {
    println!("\n{}", paint("1", &format!("=== {text} ===")));
}

/// The colour and the word for an outcome.
fn verdict(outcome: &Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Ran(_) | Outcome::Broken(_) if outcome.is_failure() => (RED, "FAILED"),
        Outcome::Ran(_) | Outcome::Broken(_) => (GREEN, "ok"),
        Outcome::Missing(_) => (YELLOW, "MISSING"),
        Outcome::Skipped(_) => (YELLOW, "skipped"),
    }
}

/// The last column of the table.
fn detail(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ran(counts) => format!("{} passed, {} failed", counts.passed, counts.failed),
        Outcome::Missing(tool) => format!("{tool} is not installed or cannot be reached"),
        Outcome::Skipped(reason) | Outcome::Broken(reason) => reason.clone(),
    }
}

/// Colours the text, unless the output is a file or `NO_COLOR` is set.
fn paint(code: &str, text: &str) -> String {
    if std::env::var_os("NO_COLOR").is_none() && std::io::stdout().is_terminal() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}
