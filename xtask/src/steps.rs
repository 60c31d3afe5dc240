//! The steps of `cargo xtask test`, in order: cheap checks first, suites against the server last.
//!
//! A failing step does not stop the later ones. Only the server build is special: if it fails, the
//! suites are skipped instead of running against an older binary. Client suites wait more than they
//! work, so two of them run at the same time.

mod crash;
mod deny;
mod dotnet;
mod explorer;
mod go;
mod hostile;
mod java;
mod javascript;
mod npm;
mod python;
mod rust;
mod rust_sdk;

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::console::Console;
use crate::outcome::{Outcome, Report};
use crate::summary;
use crate::workspace::Workspace;

/// One row of the table of steps.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    kind: StepKind,
    run: fn(&Workspace, &Console) -> Result<Outcome>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// A check of the workspace itself.
    Own,
    /// A step that loads or stops the server, and so runs alone.
    Server,
    /// Client programs, which run beside each other. The longest are first, so that the last ones
    /// end together.
    Suite,
}

/// The number of suites that run at the same time.
const AT_ONCE: usize = 2;

pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        title: "formatting",
        kind: StepKind::Own,
        run: rust::format,
    },
    Step {
        name: "clippy",
        title: "lints",
        kind: StepKind::Own,
        run: rust::lint,
    },
    Step {
        name: "deny",
        title: "licences and sources",
        kind: StepKind::Own,
        run: deny::rules,
    },
    Step {
        name: "advisories",
        title: "known holes",
        kind: StepKind::Own,
        run: deny::advisories,
    },
    Step {
        name: "rust",
        title: "workspace tests",
        kind: StepKind::Own,
        run: rust::test,
    },
    Step {
        name: SERVER,
        title: "release build",
        kind: StepKind::Own,
        run: rust::build_server,
    },
    Step {
        name: "python",
        title: "Python SDK",
        kind: StepKind::Suite,
        run: python::run,
    },
    Step {
        name: "js",
        title: "JavaScript SDK",
        kind: StepKind::Suite,
        run: javascript::run,
    },
    Step {
        name: "explorer",
        title: "explorer in Chromium",
        kind: StepKind::Suite,
        run: explorer::run,
    },
    Step {
        name: "rust-sdk",
        title: "Rust SDK",
        kind: StepKind::Suite,
        run: rust_sdk::run,
    },
    Step {
        name: "java",
        title: "Java SDK",
        kind: StepKind::Suite,
        run: java::run,
    },
    Step {
        name: "go",
        title: "Go SDK",
        kind: StepKind::Suite,
        run: go::run,
    },
    Step {
        name: "dotnet",
        title: ".NET SDKs",
        kind: StepKind::Suite,
        run: dotnet::run,
    },
    Step {
        name: "crash",
        title: "crash test",
        kind: StepKind::Server,
        run: crash::run,
    },
    Step {
        name: "hostile",
        title: "attacks",
        kind: StepKind::Server,
        run: hostile::run,
    },
];

/// The name of the step that builds the server.
const SERVER: &str = "build";

/// The named steps in the order of the table, and the server build for steps that need the server.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Step>> {
    if let Some(unknown) = names
        .iter()
        .find(|name| STEPS.iter().all(|step| step.name != **name))
    {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!(
            "no step is called `{unknown}`; there are {}",
            known.join(", ")
        );
    }
    let named = |step: &Step| names.is_empty() || names.iter().any(|name| name == step.name);
    // Any suite needs the server, unless the caller names a binary.
    let server = STEPS
        .iter()
        .any(|step| step.kind != StepKind::Own && named(step))
        && std::env::var_os("ORRERY_BIN").is_none();
    Ok(STEPS
        .iter()
        .filter(|step| named(step) || (server && step.name == SERVER))
        .collect())
}

/// Runs the steps in order. Consecutive suites are one group.
pub(crate) fn run(chosen: &[&'static Step], workspace: &Workspace) -> Vec<Report> {
    let mut reports = Vec::new();
    let mut server_failed = false;
    for group in
        chosen.chunk_by(|one, other| one.kind == StepKind::Suite && other.kind == StepKind::Suite)
    {
        // An old binary may still exist, and tests of it would be misleading.
        let skips = server_failed && group.iter().any(|step| step.kind != StepKind::Own);
        let done = match group {
            [step] => vec![step.run_alone(workspace, skips)],
            steps => run_at_once(steps, workspace, skips),
        };
        server_failed |= group.iter().any(|step| step.name == SERVER)
            && done.iter().any(|report| report.outcome.is_failure());
        reports.extend(done);
    }
    reports
}

/// Runs two steps at a time. Each step shows its output when it is done.
fn run_at_once(steps: &[&'static Step], workspace: &Workspace, skips: bool) -> Vec<Report> {
    let todo = Mutex::new(steps.iter().enumerate());
    let done = Mutex::new(Vec::new());
    // The lock is held only while a thread takes its next step.
    let next = || todo.lock().ok()?.next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((index, step)) = next() {
                    summary::print_begin(step.title);
                    let report = step.run_with(Console::silent(), workspace, skips);
                    summary::print_end(&report);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, report));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    // The summary has the order of the table, whatever step ended first.
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, report)| report).collect()
}

impl Step {
    /// Runs a step that shows its output as it comes.
    fn run_alone(&self, workspace: &Workspace, skips: bool) -> Report {
        summary::heading(self.title);
        self.run_with(Console::live(), workspace, skips)
    }

    /// Runs a step, and turns its errors into outcomes, so that later steps run too.
    fn run_with(&self, console: Console, workspace: &Workspace, skips: bool) -> Report {
        let started = Instant::now();
        let outcome = if skips {
            Outcome::Skipped("the server did not build".to_owned())
        } else {
            (self.run)(workspace, &console)
                .unwrap_or_else(|error| Outcome::Broken(format!("{error:#}")))
        };
        Report {
            title: self.title,
            outcome,
            elapsed: started.elapsed(),
            output: console.into_text(),
        }
    }
}

/// The outcome of a suite that a partial checkout does not have.
fn absent(workspace: &Workspace, suite: &str, marker: &str) -> Option<Outcome> {
    let absent = !workspace.suite(suite).join(marker).exists();
    absent.then(|| Outcome::Skipped(format!("there is no tests/sdk/{suite}/{marker}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chosen: &[&str]) -> Vec<&'static str> {
        let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
        select(&chosen)
            .unwrap()
            .iter()
            .map(|step| step.name)
            .collect()
    }

    #[test]
    fn everything_when_nothing_is_named() {
        assert_eq!(names(&[]).len(), STEPS.len());
    }

    #[test]
    fn table_order_whatever_the_order_asked() {
        assert_eq!(names(&["clippy", "fmt"]), ["fmt", "clippy"]);
    }

    #[test]
    fn unknown_names_are_refused() {
        assert!(select(&["pyton".to_owned()]).is_err());
    }
}
