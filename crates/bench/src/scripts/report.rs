//! The results of the script workload, as a Markdown document.

use std::fmt::{Display, Formatter, Result};

use serde::Serialize;

use crate::machine::Machine;
use crate::markdown::{heading, opening, row, targets};
use crate::server::ServerSettings;
use crate::targets::{TargetReport, at_least, at_most, below};

const PROCEDURE_TO_BATCH_MAX: f64 = 3.0;
const IMPORT_TO_BATCHES_MIN: f64 = 0.5;
const FUNCTION_US_MAX: f64 = 2.0;

/// The result of the script workload.
#[derive(Clone, Debug, Serialize)]
pub struct ScriptReport {
    pub command_line: String,
    pub date: Option<String>,
    pub machine: Machine,
    pub settings: ServerSettings,
    pub value_bytes: usize,
    pub rounds: u16,
    pub targets: Vec<TargetReport>,
    pub read_replace: ReadReplaceReport,
    pub import: ImportReport,
    pub function: FunctionReport,
    pub interference: InterferenceReport,
}

/// Medians over the rounds of the medians of each round, on one connection.
#[derive(Clone, Debug, Serialize)]
pub struct ReadReplaceReport {
    pub batch_us: f64,
    pub procedure_us: f64,
    pub ratio: f64,
    pub ratios: Vec<f64>,
}

/// The rates of a bulk import by batches and by a procedure.
#[derive(Clone, Debug, Serialize)]
pub struct ImportReport {
    pub items: u64,
    pub batch_per_second: f64,
    pub procedure_per_second: f64,
    pub ratio: f64,
    pub ratios: Vec<f64>,
}

/// The time of a query with and without a user-defined function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionReport {
    pub items: u64,
    /// The time of the query with the condition in its text.
    pub written_ms: f64,
    /// The time of the query that calls the function.
    pub called_ms: f64,
    pub added_us: f64,
}

/// Point reads with and without endless scripts beside them.
#[derive(Clone, Debug, Serialize)]
pub struct InterferenceReport {
    pub connections: u16,
    /// The number of endless scripts that run at the same time.
    pub scripts: usize,
    pub scripts_stopped: u64,
    pub quiet: ReadsReport,
    pub beside: ReadsReport,
}

/// The rate and the latencies of point reads.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReadsReport {
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
}

/// Compares the figures of the script workload with their targets.
pub(super) fn judge(
    read_replace: &ReadReplaceReport,
    import: &ImportReport,
    function: &FunctionReport,
) -> Vec<TargetReport> {
    vec![
        at_most(
            "procedure / batch, read and replace, latency",
            read_replace.ratio,
            PROCEDURE_TO_BATCH_MAX,
        ),
        at_least(
            "procedure / batches, bulk import, rate",
            import.ratio,
            IMPORT_TO_BATCHES_MIN,
        ),
        below(
            "function over every item, added microseconds an item",
            function.added_us,
            FUNCTION_US_MAX,
        ),
    ]
}

impl Display for ScriptReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        opening(f, self.date.as_deref(), &self.command_line, &self.machine)?;
        writeln!(f, "- server: {}, TLS off", self.settings)?;
        writeln!(
            f,
            "- items of {} bytes, rounds: {}, sides in turns on one connection",
            self.value_bytes, self.rounds
        )?;
        targets(f, "Scripts: targets", &self.targets)?;
        self.work(f)?;
        self.reads(f)
    }
}

impl ScriptReport {
    /// Writes the table that compares work inside scripts with equal work outside.
    fn work(&self, f: &mut Formatter<'_>) -> Result {
        heading(
            f,
            "Scripts: the same work with and without",
            &["Work", "Without", "With"],
        )?;
        let ReadReplaceReport {
            batch_us,
            procedure_us,
            ..
        } = self.read_replace;
        row(
            f,
            &[
                "read and replace one item, median".to_owned(),
                format!("{batch_us:.0} us"),
                format!("{procedure_us:.0} us"),
            ],
        )?;
        let import = &self.import;
        row(
            f,
            &[
                format!("{} creates, a hundred in a call", import.items),
                format!("{:.0}/s", import.batch_per_second),
                format!("{:.0}/s", import.procedure_per_second),
            ],
        )?;
        let function = &self.function;
        row(
            f,
            &[
                format!("a condition over {} items", function.items),
                format!("{:.1} ms", function.written_ms),
                format!("{:.1} ms", function.called_ms),
            ],
        )
    }

    /// The table of point reads beside endless scripts.
    fn reads(&self, f: &mut Formatter<'_>) -> Result {
        let InterferenceReport {
            connections,
            scripts,
            scripts_stopped,
            quiet,
            beside,
        } = &self.interference;
        let title = format!("Point reads on {connections} connections beside endless scripts");
        let columns = ["", "reads/s", "p50 us", "p99 us", "p99.9 us"];
        heading(f, &title, &columns)?;
        let with = format!("{scripts} endless scripts, stopped {scripts_stopped} times");
        for (name, reads) in [("no scripts", quiet), (with.as_str(), beside)] {
            let ReadsReport {
                per_second,
                p50_us,
                p99_us,
                p999_us,
            } = reads;
            let figures = [per_second, p50_us, p99_us, p999_us];
            let figures = figures.map(|figure| format!("{figure:.0}"));
            let cells: Vec<_> = std::iter::once(name.to_owned()).chain(figures).collect();
            row(f, &cells)?;
        }
        Ok(())
    }
}
