//! The query report as a Markdown document for docs/performance.md.

use std::fmt::{Display, Formatter, Result};

use super::case::Case;
use super::report::{BulkReport, QueryReport};
use super::slice::COMPARED_EVERY;
use crate::markdown::{heading, opening, row};
use crate::resident::megabytes;

impl Display for QueryReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.setting(f)?;
        self.queries(f)?;
        self.sizes(f)?;
        self.scan(f)?;
        self.metrics(f)?;
        self.compiles(f)?;
        self.loads(f)
    }
}

impl QueryReport {
    /// The conditions of the run.
    fn setting(&self, f: &mut Formatter<'_>) -> Result {
        opening(f, self.date.as_deref(), &self.command_line, &self.machine)?;
        writeln!(f, "- server: {}, TLS off", self.settings)?;
        writeln!(
            f,
            "- {} items of {} bytes in 100 logical partitions, one physical partition; client \
             threads: {}; slices of {:.1} s; the run took {:.0} s",
            self.items, self.value_bytes, self.threads, self.slice_seconds, self.seconds
        )?;
        writeln!(
            f,
            "- answers: rows of every one counted; aggregates, the scan and every {COMPARED_EVERY}th \
             of the others compared in full with what was loaded; none was wrong"
        )?;
        match (&self.postgres, &self.postgres_skipped) {
            (Some(postgres), _) => writeln!(
                f,
                "- {}, default settings (a large query may use several processes), jsonb with expression \
                 indexes, vacuumed and analysed",
                postgres.version
            ),
            (None, Some(reason)) => writeln!(f, "- PostgreSQL was skipped: {reason}"),
            (None, None) => Ok(()),
        }
    }

    /// The table of all cases against `PostgreSQL`.
    fn queries(&self, f: &mut Formatter<'_>) -> Result {
        let columns = [
            "Query",
            "Connections",
            "Rounds",
            "queries/s",
            "mean ms",
            "p50 ms",
            "p99 ms",
            "PostgreSQL/s",
            "PostgreSQL mean ms",
            "Ratio",
        ];
        heading(f, "Queries in turns with PostgreSQL", &columns)?;
        for case in &self.cases {
            row(
                f,
                &[
                    case.case.title().to_owned(),
                    case.connections.to_string(),
                    case.rounds.len().to_string(),
                    rate(case.per_second),
                    milliseconds(case.mean_ms),
                    milliseconds(case.p50_ms),
                    milliseconds(case.p99_ms),
                    optional(case.postgres_per_second, rate),
                    optional(case.postgres_mean_ms, milliseconds),
                    optional(case.to_postgres, ratio),
                ],
            )?;
        }
        for case in &self.cases {
            // A refused case has a row without figures, so the reason follows the table.
            if let Some(refused) = &case.refused {
                let (title, connections) = (case.case.title(), case.connections);
                writeln!(
                    f,
                    "\nFailed: {title}, {connections} connections: `{refused}`"
                )?;
            }
        }
        Ok(())
    }

    /// The table of ordered pages over few and many items.
    fn sizes(&self, f: &mut Formatter<'_>) -> Result {
        let small = format!("{} items/s", self.few_items);
        let large = format!("{} items/s", self.items);
        heading(
            f,
            "Ordered pages by size",
            &["Query", &small, &large, "Ratio"],
        )?;
        for case in self.cases.iter().filter(|case| case.to_few.is_some()) {
            row(
                f,
                &[
                    case.case.title().to_owned(),
                    optional(case.few_per_second, rate),
                    rate(case.per_second),
                    optional(case.to_few, ratio),
                ],
            )?;
        }
        Ok(())
    }

    /// The table of the scan, whose figure is bytes per second.
    fn scan(&self, f: &mut Formatter<'_>) -> Result {
        let columns = ["One connection", "MB/s", "Pages", "PostgreSQL MB/s"];
        heading(f, "Documents gone through", &columns)?;
        for case in self.cases.iter().filter(|case| case.case == Case::Scan) {
            let integer = |value: f64| format!("{value:.0}");
            row(
                f,
                &[
                    case.case.title().to_owned(),
                    integer(case.document_megabytes_per_second),
                    integer(case.pages_per_query),
                    optional(case.postgres_document_megabytes_per_second, integer),
                ],
            )?;
        }
        Ok(())
    }

    /// The table of the server's own query metrics.
    fn metrics(&self, f: &mut Formatter<'_>) -> Result {
        let columns = [
            "Query",
            "Items",
            "Rows",
            "Pages",
            "Retrieved",
            "Output",
            "Server ms",
            "RU",
        ];
        heading(f, "What the server says of one query", &columns)?;
        for probe in &self.metrics {
            let metric = |name: &str, print: fn(f64) -> String| {
                optional(probe.metrics.get(name).copied(), print)
            };
            let count = |value: f64| format!("{value:.0}");
            row(
                f,
                &[
                    probe.case.title().to_owned(),
                    probe.items.to_string(),
                    probe.rows.to_string(),
                    probe.pages.to_string(),
                    metric("retrievedDocumentCount", count),
                    metric("outputDocumentCount", count),
                    metric("totalExecutionTimeInMs", milliseconds),
                    format!("{:.2}", probe.charge),
                ],
            )?;
        }
        Ok(())
    }

    /// The table of parsing and planning times.
    fn compiles(&self, f: &mut Formatter<'_>) -> Result {
        let columns = ["Query", "server, new text, us", "server, new values, us"];
        heading(f, "Parsing and planning", &columns)?;
        let microseconds = |value: f64| format!("{value:.1}");
        for compile in &self.compiles {
            row(
                f,
                &[
                    compile.case.title().to_owned(),
                    optional(compile.server_new_us, microseconds),
                    optional(compile.server_us, microseconds),
                ],
            )?;
        }
        Ok(())
    }

    /// The table of loading with and without an index.
    fn loads(&self, f: &mut Formatter<'_>) -> Result {
        let columns = [
            "Indexed",
            "seconds",
            "items/s",
            "on disk",
            "bytes on disk / byte of JSON",
        ];
        heading(f, "Durable bulk load", &columns)?;
        let load = |f: &mut Formatter<'_>, name: &str, load: &BulkReport| {
            row(
                f,
                &[
                    name.to_owned(),
                    format!("{:.1}", load.seconds),
                    rate(load.items_per_second),
                    megabytes(Some(load.disk_bytes)),
                    ratio(load.disk_bytes_per_json_byte),
                ],
            )
        };
        load(f, "all paths but `/raw/?`", &self.indexed)?;
        load(f, "nothing", &self.unindexed)?;
        writeln!(
            f,
            "\nThe index makes loading take {:.2} times as long. The server's memory at the end: {}.",
            self.index_time_ratio(),
            megabytes(self.resident_bytes)
        )?;
        if let Some(postgres) = &self.postgres {
            writeln!(
                f,
                "PostgreSQL took {:.1} s to copy the documents on one connection and {:.1} s to index \
                 them; table and indexes have {}.",
                postgres.copy_seconds,
                postgres.index_seconds,
                megabytes(Some(postgres.disk_bytes))
            )?;
        }
        Ok(())
    }
}

/// Prints a figure, or a dash for a figure that was not measured.
fn optional(value: Option<f64>, print: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), print)
}

/// Slow rates print with decimals.
fn rate(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn milliseconds(value: f64) -> String {
    rate(value)
}

/// Small ratios print with more decimals.
fn ratio(value: f64) -> String {
    if value < 0.1 {
        format!("{value:.4}")
    } else {
        format!("{value:.2}")
    }
}
