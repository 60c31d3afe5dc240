//! The explanation of a page as text for people.

use std::fmt::Write;

use super::Plan;
use super::plan::Microseconds;

/// The begin of the lines with rejected alternatives.
const CONSIDERED: &str = "considered: ";

/// The text of one page, with the page number, counted from one, and the charge.
pub fn page_text(number: u32, charge: f64, plan: &Plan) -> String {
    let mut text = format!("Page {number}: {charge} RU\n\n");
    // The server appends the rejected alternatives to the steps.
    let (others, steps): (Vec<_>, Vec<_>) = plan
        .steps
        .iter()
        .partition(|line| line.starts_with(CONSIDERED));
    for step in steps {
        let _ = writeln!(text, "  {step}");
    }
    let rows = [
        ("", "estimated".to_owned(), "actual".to_owned()),
        (
            "index entries",
            plan.estimated.entries.to_string(),
            plan.actual.entries.to_string(),
        ),
        (
            "documents",
            plan.estimated.documents.to_string(),
            plan.actual.documents.to_string(),
        ),
        ("rows", String::new(), plan.actual.rows.to_string()),
    ];
    text.push('\n');
    for (name, estimated, actual) in rows {
        let _ = writeln!(text, "  {name:<13}  {estimated:>11}  {actual:>11}");
    }
    let _ = writeln!(text, "\n  {}\n", times(&plan.microseconds));
    if !others.is_empty() {
        text += "  Considered and not taken:\n";
        for other in others {
            let _ = writeln!(text, "    {}", &other[CONSIDERED.len()..]);
        }
        text.push('\n');
    }
    text
}

/// The times of all phases on one line.
fn times(times: &Microseconds) -> String {
    let parts = [
        ("compile", times.compile),
        ("plan", times.plan),
        ("index", times.index),
        ("load", times.load),
        ("total", times.total),
    ];
    parts
        .map(|(name, microseconds)| format!("{name} {}", time(microseconds)))
        .join(", ")
}

/// A time in the unit that needs the fewest digits.
#[expect(clippy::cast_precision_loss, reason = "two digits are printed")]
fn time(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} us"),
        1_000..1_000_000 => format!("{:.2} ms", microseconds as f64 / 1e3),
        _ => format!("{:.2} s", microseconds as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::plan::{Actual, Estimated};

    #[test]
    fn numbers_stand_beside_each_other() {
        let plan = Plan {
            steps: [
                "intersection (entries 20, documents 5)",
                "  point /a/? = 1 (entries 10, documents 10)",
                "considered: scan of documents, cost 900",
            ]
            .map(str::to_owned)
            .to_vec(),
            estimated: Estimated {
                entries: 20,
                documents: 5,
            },
            actual: Actual {
                entries: 21,
                documents: 4,
                rows: 4,
            },
            microseconds: Microseconds {
                compile: 40,
                plan: 9,
                index: 15,
                load: 1_250,
                total: 2_000_000,
            },
        };
        let expected = "\
Page 2: 3.05 RU

  intersection (entries 20, documents 5)
    point /a/? = 1 (entries 10, documents 10)

                   estimated       actual
  index entries           20           21
  documents                5            4
  rows                                  4

  compile 40 us, plan 9 us, index 15 us, load 1.25 ms, total 2.00 s

  Considered and not taken:
    scan of documents, cost 900

";
        let shown = page_text(2, 3.05, &plan);
        assert_eq!(shown, expected);
    }
}
