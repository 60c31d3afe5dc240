//! The suite report as a Markdown document for docs/performance.md.

use std::fmt::{Display, Formatter, Result};

use crate::machine::Machine;
use crate::report::Report;
use crate::resident::megabytes;
use crate::start::StartTimes;
use crate::suite_report::{Parts, SuiteReport};
use crate::targets::TargetReport;

impl Display for SuiteReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.setting(f)?;
        targets(f, "Targets", &self.targets)?;
        let parts = &self.parts;
        parts.point_reads(f)?;
        parts.group_commit(f)?;
        parts.against_postgres(f)?;
        parts.mixes(f)?;
        parts.starts(f)?;
        parts.memory(f)?;
        for failure in parts
            .reports()
            .filter_map(|report| report.first_failure.as_ref())
        {
            writeln!(
                f,
                "\nFailure: {} answered {}: `{}`",
                failure.operation, failure.status, failure.body
            )?;
        }
        Ok(())
    }
}

/// Writes a heading and the head of a table.
pub(crate) fn heading(f: &mut Formatter<'_>, title: &str, columns: &[&str]) -> Result {
    writeln!(f, "\n### {title}\n")?;
    row(f, columns)?;
    // Names are aligned left, figures right.
    let figures = columns.iter().skip(1).map(|_| "---:");
    let rule: Vec<_> = std::iter::once("---").chain(figures).collect();
    writeln!(f, "|{}|", rule.join("|"))
}

/// Writes one row of a table.
pub(crate) fn row<T: Display>(f: &mut Formatter<'_>, cells: &[T]) -> Result {
    f.write_str("|")?;
    for cell in cells {
        write!(f, " {cell} |")?;
    }
    writeln!(f)
}

/// Writes the head of a document: the date, the command and the machine.
pub(crate) fn opening(
    f: &mut Formatter<'_>,
    date: Option<&str>,
    command_line: &str,
    machine: &Machine,
) -> Result {
    let date = date.map(|date| format!("{date}: "));
    writeln!(f, "{}`{command_line}`\n", date.unwrap_or_default())?;
    let processor = machine.processor.as_deref().unwrap_or("unknown processor");
    let memory = machine
        .memory_bytes
        .map(|bytes| format!(", {:.1} GB of memory", bytes as f64 / 1e9));
    let file_system = machine
        .file_system
        .as_ref()
        .map(|name| format!(", data on {name}"));
    writeln!(
        f,
        "- machine: {processor}, {} cores{}; {}{}",
        machine.cores,
        memory.unwrap_or_default(),
        machine.system,
        file_system.unwrap_or_default()
    )?;
    if let Some(compiler) = machine.compiler {
        writeln!(f, "- compiler: {compiler}")?;
    }
    Ok(())
}

/// Writes a table of targets: the wanted figure, the measured figure and the verdict.
pub(crate) fn targets(f: &mut Formatter<'_>, title: &str, targets: &[TargetReport]) -> Result {
    heading(f, title, &["Figure", "Wanted", "Measured", ""])?;
    for target in targets {
        let verdict = target.verdict.to_string();
        row(
            f,
            &[&target.name, &target.wanted, &target.measured, &verdict],
        )?;
    }
    Ok(())
}

impl SuiteReport {
    /// The conditions of the run, which a reader needs to compare figures.
    fn setting(&self, f: &mut Formatter<'_>) -> Result {
        opening(f, self.date.as_deref(), &self.command_line, &self.machine)?;
        writeln!(f, "- server: {}, TLS off", self.parts.start.settings)?;
        writeln!(
            f,
            "- items of {} bytes, connections: {}, client threads: {}",
            self.value_bytes, self.connections, self.parts.reads.threads
        )
    }
}

impl Parts {
    /// The table of point reads against the bare server.
    fn point_reads(&self, f: &mut Formatter<'_>) -> Result {
        let title = format!("Point reads of {} items", self.reads.items);
        latency_heading(f, &title)?;
        latency_rows(f, &self.reads)?;
        let Some(ratio) = &self.reads.ratio else {
            return Ok(());
        };
        let rounds: Vec<_> = ratio
            .rounds
            .iter()
            .map(|round| format!("{round:.2}"))
            .collect();
        writeln!(f, "\nRatios of the rounds: {}.", rounds.join(", "))
    }

    /// The table of creates, whose rate grows with the connections that share a sync.
    fn group_commit(&self, f: &mut Formatter<'_>) -> Result {
        latency_heading(f, "Creates by number of connections")?;
        latency_rows(f, &self.group_commit)
    }

    /// The table of creates against `PostgreSQL`, round by round.
    fn against_postgres(&self, f: &mut Formatter<'_>) -> Result {
        let columns = ["Round", "Orrery/s", "PostgreSQL/s"];
        heading(f, "Creates in turns with PostgreSQL", &columns)?;
        let rate =
            |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        for (number, round) in (1..).zip(&self.creates) {
            let postgres = round.postgres.as_ref().map(|report| report.per_second);
            let server = rate(Some(round.server_per_second()));
            row(f, &[number.to_string(), server, rate(postgres)])?;
        }
        let medians = [
            rate(Some(self.server_median())),
            rate(self.postgres_median()),
        ];
        row(f, &["median", &medians[0], &medians[1]])?;
        // The reader of a report without PostgreSQL figures needs the reason.
        if let Some(reason) = &self.postgres_skipped {
            writeln!(f, "\nPostgreSQL was skipped: {reason}.")?;
        }
        let last = self
            .creates
            .last()
            .and_then(|round| round.postgres.as_ref());
        if let Some(report) = last {
            let (version, bytes) = (&report.version, report.document_bytes);
            writeln!(f, "\n{version}, documents of {bytes:.0} bytes.")?;
        }
        Ok(())
    }

    /// The table of the YCSB mixes.
    fn mixes(&self, f: &mut Formatter<'_>) -> Result {
        latency_heading(f, "YCSB mixes")?;
        self.mixes
            .iter()
            .try_for_each(|report| latency_rows(f, report))
    }

    /// The table of start times.
    fn starts(&self, f: &mut Formatter<'_>) -> Result {
        let columns = ["From process to first answer", "n", "median ms", "max ms"];
        heading(f, "Start", &columns)?;
        let items = self.start.load.items();
        let times = |f: &mut Formatter<'_>, name: &str, times: &StartTimes| {
            let [median, max] = [times.median_ms, times.max_ms].map(|time| format!("{time:.1}"));
            row(f, &[name, &times.count.to_string(), &median, &max])
        };
        times(f, "empty directory", &self.start.empty)?;
        let name = format!("{items} items, after a clean stop");
        match &self.start.after_stop {
            Some(after_stop) => times(f, &name, after_stop)?,
            None => row(f, &[&name, "skipped", "-", "-"])?,
        }
        times(
            f,
            &format!("{items} items, after kill -9"),
            &self.start.after_kill,
        )
    }

    /// The table of resident memory after each part.
    fn memory(&self, f: &mut Formatter<'_>) -> Result {
        heading(f, "Resident memory of the server", &["After", "Resident"])?;
        let start = &self.start;
        row(
            f,
            &[
                "one idle second on an empty directory",
                &megabytes(start.idle_resident_bytes),
            ],
        )?;
        let items = format!(
            "loading {} items ({:.0}/s)",
            start.load.items(),
            start.load.per_second
        );
        row(f, &[&items, &megabytes(start.loaded_resident_bytes)])?;
        for report in self.reports() {
            if let Some(server) = &report.server {
                row(
                    f,
                    &[&report.workload.name(), &megabytes(server.resident_bytes)],
                )?;
            }
        }
        Ok(())
    }
}

/// The head of a table of latencies.
fn latency_heading(f: &mut Formatter<'_>, title: &str) -> Result {
    let columns = [
        "Slice",
        "Operation",
        "Connections",
        "ops/s",
        "p50 us",
        "p99 us",
        "max us",
        "errors",
        "429",
    ];
    heading(f, title, &columns)
}

/// A row for each operation of each slice.
fn latency_rows(f: &mut Formatter<'_>, report: &Report) -> Result {
    for slice in &report.slices {
        for operation in &slice.operations {
            row(
                f,
                &[
                    slice.name.clone(),
                    operation.operation.to_owned(),
                    slice.connections.to_string(),
                    format!("{:.0}", operation.per_second),
                    format!("{:.0}", operation.p50_us),
                    format!("{:.0}", operation.p99_us),
                    format!("{:.0}", operation.max_us),
                    operation.errors.values().sum::<u64>().to_string(),
                    operation.throttled.to_string(),
                ],
            )?;
        }
    }
    Ok(())
}
