//! `orrery check`: checks a data directory offline and prints the result for a person. Of an
//! account with regions `orrery check` checks the store of each region.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use orrery_engine::{CheckReport, check_directory};

use crate::error_output::print_error;
use crate::regions;

const ADVICE: &str = "\
What to do: keep a copy of the directory as it is, and bring a backup of the whole directory back. If other regions \
have the data, the directory may be removed and is filled from them. A write that was never acknowledged is no loss: \
the next start cuts it off.";
const PROBLEMS: u8 = 1;
const NOT_OPENED: u8 = 2;

pub(crate) fn check(directory: &Path) -> Result<ExitCode> {
    let mut worst = 0;
    // One damaged store must not hide the others, so every store is checked and the worst code
    // wins.
    for store in regions::stores(directory)? {
        worst = worst.max(match store {
            Ok(directory) => check_store(&directory)?,
            Err(error) => {
                print_error(&error);
                NOT_OPENED
            }
        });
    }
    Ok(ExitCode::from(worst))
}

fn check_store(directory: &Path) -> Result<u8> {
    let checked =
        check_directory(directory).with_context(|| format!("cannot check {}", directory.display()));
    let report = match checked {
        Ok(report) => report,
        Err(error) => {
            print_error(&error);
            return Ok(NOT_OPENED);
        }
    };
    io::stdout().write_all(describe(directory, &report).as_bytes())?;
    Ok(if report.problems.is_empty() {
        0
    } else {
        PROBLEMS
    })
}

fn describe(directory: &Path, report: &CheckReport) -> String {
    let mut lines = vec![
        directory.display().to_string(),
        format!(
            "  documents    {} ({} bytes)",
            report.documents, report.document_bytes
        ),
        format!(
            "  log records  {} in {} segments, the last is {}",
            report.log_records, report.log_segments, report.log_last
        ),
        format!(
            "  positions    the state has record {}, record {} is marked as durable",
            report.applied, report.watermark
        ),
    ];
    if !report.rows.is_empty() {
        let rows = report.rows.iter();
        let rows: Vec<String> = rows.map(|(map, rows)| format!("{map} {rows}")).collect();
        lines.push(format!("  rows read    {}", rows.join(", ")));
    }
    match report.problems.len() {
        0 => lines.push("No problems found.".to_owned()),
        1 => lines.push("1 problem found:".to_owned()),
        count => lines.push(format!("{count} problems found:")),
    }
    lines.extend(report.problems.iter().map(|problem| format!("  {problem}")));
    if !report.problems.is_empty() {
        lines.push(ADVICE.to_owned());
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_listed() {
        let mut report = CheckReport {
            documents: 2,
            document_bytes: 30,
            ..CheckReport::default()
        };
        let clean = describe(Path::new("d"), &report);
        assert!(
            clean.starts_with("d\n  documents    2 (30 bytes)\n"),
            "{clean}"
        );
        assert!(clean.ends_with("No problems found.\n"), "{clean}");
        report.problems.push("document x: wrong".to_owned());
        let text = describe(Path::new("d"), &report);
        assert!(
            text.contains("1 problem found:\n  document x: wrong\nWhat to do: "),
            "{text}"
        );
    }
}
