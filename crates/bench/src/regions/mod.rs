//! An account in several regions: how far they are behind, what consistency costs over distance, what
//! several regions that write cost the one that is asked, and how long nobody takes writes when the write
//! region changes.
//!
//! Regions of one server share the machine, and so does the client. Whatever one region does for
//! another takes time from what is measured; where that matters, a figure without it stands beside.

mod account;
mod apart;
mod catch_up;
mod failover;
mod lag;
mod local;
mod markdown;
mod operator;
mod pace;
mod report;
mod spread;
mod strong;
mod writer;

use std::time::Duration;

use anyhow::Result;

use crate::machine::{Machine, command_line};
use crate::options::{Options, RegionsPart};
use crate::progress::show_stage;
use crate::server::ServerProgram;

pub use report::{
    CatchUpReport, FailoverReport, LagReport, LocalReport, PauseReport, RegionsReport, StrongReport,
};
pub use spread::SpreadReport;

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<RegionsReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let bench = Bench { options, program };
    let mut report = RegionsReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine: Machine::look(&folder),
        settings: program.settings.clone(),
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
        RegionsPart::Apart,
        "several regions that write, a processor each",
    ) {
        report.local.extend(apart::measure(&bench).await?);
    }
    if bench.begins(RegionsPart::Failover, "failovers") {
        report.failover = Some(failover::measure(&bench).await?);
    }
    show_stage(options.progress, "");
    report.targets = report.judge();
    Ok(report)
}

/// What to start, and how long to measure it.
struct Bench<'a> {
    options: &'a Options,
    program: &'a ServerProgram,
}

impl Bench<'_> {
    /// Whether a part is wanted; then it is shown to begin.
    fn begins(&self, part: RegionsPart, title: &str) -> bool {
        let is_wanted = self.options.wants(part);
        if is_wanted {
            show_stage(self.options.progress, title);
        }
        is_wanted
    }

    /// What one figure that is not compared is measured for.
    fn duration(&self) -> Duration {
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(Duration::from_secs(self.options.duration))
    }

    fn slice(&self) -> Duration {
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(self.duration() / u32::from(self.options.rounds))
    }
}
