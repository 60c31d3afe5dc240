//! An account in several regions: the lag of regions, the cost of consistency over distance, the
//! cost of several write regions for a client of one, and the time without writes when the write
//! region changes.
//!
//! The regions of one server share the machine, and the client shares it too. The work of one
//! region for another takes time from the measured operations; where that matters, the report has a
//! figure without this work too.

mod account;
mod catch_up;
mod dedicated_processors;
mod failover;
mod lag;
mod local;
mod markdown;
mod operator;
mod report;
mod schedule;
mod spread;
mod strong;
mod writer;

use std::time::Duration;

use anyhow::Result;

use crate::machine::{Machine, command_line};
use crate::options::{Options, RegionsPart};
use crate::program::ServerProgram;
use crate::progress::show_stage;

pub use report::{
    CatchUpReport, FailoverReport, LagReport, LocalReport, PauseReport, RegionsReport, StrongReport,
};
pub use spread::SpreadReport;

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<RegionsReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let bench = RegionsBench { options, program };
    let mut report = RegionsReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine: Machine::detect(&folder),
        settings: program.settings(),
        value_bytes: options.value_bytes,
        rounds: options.rounds,
        targets: Vec::new(),
        lag: None,
        catch_up: None,
        strong: Vec::new(),
        local: Vec::new(),
        failover: None,
    };
    if bench.begins(RegionsPart::Lag, "lag of another region") {
        report.lag = Some(lag::measure(&bench).await?);
    }
    if bench.begins(RegionsPart::CatchUp, "catching up") {
        report.catch_up = Some(catch_up::measure(&bench).await?);
    }
    if bench.begins(RegionsPart::Strong, "strong writes") {
        report.strong = strong::measure(&bench).await?;
    }
    if bench.begins(RegionsPart::Local, "several regions that write") {
        report.local = local::measure(&bench).await?;
    }
    if bench.begins(
        RegionsPart::DedicatedProcessors,
        "several regions that write, a processor each",
    ) {
        report
            .local
            .extend(dedicated_processors::measure(&bench).await?);
    }
    if bench.begins(RegionsPart::Failover, "failovers") {
        report.failover = Some(failover::measure(&bench).await?);
    }
    show_stage(options.progress, "");
    // Judged at the end, when all parts are measured.
    report.targets = report.judge();
    Ok(report)
}

/// The server to start, and the options of the measurements.
struct RegionsBench<'a> {
    options: &'a Options,
    program: &'a ServerProgram,
}

impl RegionsBench<'_> {
    /// Whether the run includes a part. The progress line then shows its title.
    fn begins(&self, part: RegionsPart, title: &str) -> bool {
        let is_wanted = self.options.wants(part);
        if is_wanted {
            show_stage(self.options.progress, title);
        }
        is_wanted
    }

    /// The length of a measurement that is not part of a comparison.
    fn duration(&self) -> Duration {
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(Duration::from_secs(self.options.duration))
    }

    fn slice(&self) -> Duration {
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(self.duration() / u32::from(self.options.rounds))
    }
}
