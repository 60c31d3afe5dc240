//! The results of one run of the suite.

use serde::Serialize;

use crate::machine::Machine;
use crate::median::median;
use crate::postgres::PostgresReport;
use crate::report::Report;
use crate::start::StartReport;
use crate::targets::{Figures, TargetReport};

/// The report. `Display` writes a Markdown document (`markdown`), `Serialize` all figures.
#[derive(Clone, Debug, Serialize)]
pub struct SuiteReport {
    pub command_line: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    pub machine: Machine,
    pub value_bytes: usize,
    pub connections: u16,
    pub targets: Vec<TargetReport>,
    pub parts: Parts,
}

/// The measurements in the order in which they ran.
#[derive(Clone, Debug, Serialize)]
pub struct Parts {
    pub reads: Report,
    pub mixes: Vec<Report>,
    pub group_commit: Report,
    pub creates: Vec<CreateRound>,
    /// Why `PostgreSQL` was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres_skipped: Option<String>,
    pub start: StartReport,
}

/// One round, with one slice of each side.
#[derive(Clone, Debug, Serialize)]
pub struct CreateRound {
    pub server: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<PostgresReport>,
}

impl CreateRound {
    pub(crate) fn server_per_second(&self) -> f64 {
        self.server
            .slices
            .iter()
            .map(|slice| slice.per_second)
            .sum()
    }
}

impl Parts {
    /// The figures that have a target.
    pub(crate) fn figures(&self, connections: u16) -> Figures {
        let ratio = |report: &Report| report.ratio.as_ref().map(|ratio| ratio.value);
        let start = &self.start;
        Figures {
            connections,
            items: start.load.items(),
            cache_bytes: start.settings.cache_bytes,
            reads_to_bare: ratio(&self.reads),
            creates_to_one_connection: ratio(&self.group_commit),
            creates_to_postgres: self
                .postgres_median()
                .map(|postgres| self.server_median() / postgres),
            loaded_resident_bytes: start.loaded_resident_bytes,
            idle_resident_bytes: start.idle_resident_bytes,
            start_empty_ms: Some(start.empty.median_ms),
            start_loaded_ms: start.after_stop.as_ref().map(|times| times.median_ms),
        }
    }

    pub(crate) fn server_median(&self) -> f64 {
        let rounds = self.creates.iter();
        let rates: Vec<_> = rounds.map(CreateRound::server_per_second).collect();
        median(&rates)
    }

    pub(crate) fn postgres_median(&self) -> Option<f64> {
        let rounds = self.creates.iter();
        let rates: Option<Vec<_>> = rounds
            .map(|round| Some(round.postgres.as_ref()?.per_second))
            .collect();
        rates.map(|rates| median(&rates))
    }

    /// All reports of measurements, for their failures and memory.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &Report> {
        let creates = self.creates.iter().map(|round| &round.server);
        [&self.reads, &self.group_commit]
            .into_iter()
            .chain(&self.mixes)
            .chain(creates)
    }
}
