//! The regions report as a Markdown document.

use std::fmt::{Display, Formatter, Result};

use super::report::{CatchUpReport, FailoverReport, LagReport, RegionsReport};
use super::spread::SpreadReport;
use crate::markdown::{heading, opening, row, targets};

/// The columns of a table of percentiles.
const SPREAD: [&str; 6] = ["", "n", "p50 ms", "p95 ms", "p99 ms", "max ms"];

impl Display for RegionsReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        opening(f, self.date.as_deref(), &self.command_line, &self.machine)?;
        writeln!(f, "- server: {}, TLS off", self.settings)?;
        writeln!(
            f,
            "- items of {} bytes, rounds: {}; all regions and the client on this machine",
            self.value_bytes, self.rounds
        )?;
        if !self.targets.is_empty() {
            targets(f, "Regions: targets", &self.targets)?;
        }
        if let Some(lag) = &self.lag {
            self::lag(f, lag)?;
        }
        if let Some(catch_up) = &self.catch_up {
            self::catch_up(f, catch_up)?;
        }
        self.strong(f)?;
        self.local(f)?;
        if let Some(failover) = &self.failover {
            self::failover(f, failover)?;
        }
        Ok(())
    }
}

/// The table of replication lag.
fn lag(f: &mut Formatter<'_>, report: &LagReport) -> Result {
    let title = format!("Lag at {:.0} writes a second", report.writes_per_second);
    heading(f, &title, &SPREAD)?;
    spread(
        f,
        "until a write can be read in the other region",
        &report.lag,
    )?;
    spread(f, "as operators are told of the link", &report.link)?;
    spread(
        f,
        "the most it can be, as the other region says",
        &report.bound,
    )?;
    spread(f, "until the write was acknowledged", &report.create)?;
    spread(f, "the same in an account of one region", &report.alone)?;
    writeln!(
        f,
        "\n{} writes a second were wanted, on {} connections. The region was said to lack {} records at most.",
        report.wanted_per_second, report.connections, report.link_records_max
    )
}

/// The table of reads while the other region catches up.
fn catch_up(f: &mut Formatter<'_>, report: &CatchUpReport) -> Result {
    let title = format!(
        "{} reads a second on {} connections beside catching up",
        report.reads_per_second, report.readers
    );
    heading(f, &title, &SPREAD)?;
    spread(f, "records held back", &report.quiet)?;
    spread(f, "catching up", &report.meanwhile)?;
    writeln!(
        f,
        "\n{} records in {:.2} s, {:.0} a second.",
        report.records, report.seconds, report.per_second
    )
}

impl RegionsReport {
    /// The table of strong writes, with a row for each delay between regions.
    fn strong(&self, f: &mut Formatter<'_>) -> Result {
        let Some(first) = self.strong.first() else {
            return Ok(());
        };
        // All delays are measured on the same number of connections.
        let many = first.connections;
        let columns = [
            "One way, ms".to_owned(),
            "there and back".to_owned(),
            "1 writer p50".to_owned(),
            "p99".to_owned(),
            "p50 beyond".to_owned(),
            "p99 beyond".to_owned(),
            format!("{many} writers/s"),
            "p50".to_owned(),
            "p99".to_owned(),
            "read elsewhere p50".to_owned(),
        ];
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        heading(f, "Strong writes, milliseconds", &columns)?;
        for strong in &self.strong {
            let [p50, p99] = strong.overhead_ms();
            let figures = [
                strong.round_trip_ms,
                strong.one.p50_ms,
                strong.one.p99_ms,
                p50,
                p99,
            ];
            let mut cells = vec![strong.delay_ms.to_string()];
            cells.extend(figures.map(|figure| format!("{figure:.2}")));
            cells.push(format!("{:.0}", strong.many_per_second));
            let many = [strong.many.p50_ms, strong.many.p99_ms, strong.read.p50_ms];
            cells.extend(many.map(|ms| format!("{ms:.2}")));
            row(f, &cells)?;
        }
        Ok(())
    }

    /// The table of one region's rates with and without other regions.
    fn local(&self, f: &mut Formatter<'_>) -> Result {
        if self.local.is_empty() {
            return Ok(());
        }
        let columns = [
            "",
            "Connections",
            "Two regions write",
            "One region",
            "Ratio",
            "Rounds",
        ];
        heading(f, "One region of several that write, in turns", &columns)?;
        for local in &self.local {
            let rates = &local.rates;
            let rounds = rates.ratios.iter().map(|ratio| format!("{ratio:.2}"));
            let rounds: Vec<_> = rounds.collect();
            row(
                f,
                &[
                    local.operation,
                    &local.connections.to_string(),
                    &format!("{:.0}/s", rates.per_second),
                    &format!("{:.0}/s", rates.other_per_second),
                    &format!("{:.3}", rates.ratio),
                    &rounds.join(", "),
                ],
            )?;
        }
        Ok(())
    }
}

/// The table of pauses while the write region changes.
fn failover(f: &mut Formatter<'_>, report: &FailoverReport) -> Result {
    let title = format!(
        "Changes of the write region, {} regions: how long nobody takes writes",
        report.regions
    );
    let columns = ["", "n", "median ms", "max ms", "order, median ms"];
    heading(f, &title, &columns)?;
    for (name, pause) in [
        ("planned", report.planned),
        ("write region down, forced", report.forced),
        ("write region down, by votes", report.voted),
    ] {
        let SpreadReport {
            count,
            p50_ms,
            max_ms,
            ..
        } = pause.pause;
        let mut cells = vec![name.to_owned(), count.to_string()];
        cells.extend([p50_ms, max_ms, pause.order.p50_ms].map(|ms| format!("{ms:.1}")));
        row(f, &cells)?;
    }
    Ok(())
}

/// One row of percentiles.
fn spread(f: &mut Formatter<'_>, name: &str, spread: &SpreadReport) -> Result {
    let SpreadReport {
        count,
        p50_ms,
        p95_ms,
        p99_ms,
        max_ms,
    } = spread;
    let mut cells = vec![name.to_owned(), count.to_string()];
    cells.extend([p50_ms, p95_ms, p99_ms, max_ms].map(|ms| format!("{ms:.2}")));
    row(f, &cells)
}
