//! The steps of `cargo xtask test`, in order: cheap checks first, suites against the server last.
//!
//! A failing step does not stop the later ones. Only the server is special: when it does not build,
//! the suites are skipped rather than run against an older binary.

mod crash;
mod explorer;
mod go;
mod java;
mod javascript;
mod npm;
mod python;
mod rust;
mod rust_sdk;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::outcome::{Outcome, Report};
use crate::summary;
use crate::workspace::Workspace;

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    needs_server: bool,
    run: fn(&Workspace) -> Result<Outcome>,
}

pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        title: "formatting",
        needs_server: false,
        run: rust::format,
    },
    Step {
        name: "clippy",
        title: "lints",
        needs_server: false,
        run: rust::lint,
    },
    Step {
        name: "rust",
        title: "workspace tests",
        needs_server: false,
        run: rust::test,
    },
    Step {
        name: SERVER,
        title: "release build",
        needs_server: false,
        run: rust::build_server,
    },
    Step {
        name: "python",
        title: "Python SDK",
        needs_server: true,
        run: python::run,
    },
    Step {
        name: "js",
        title: "JavaScript SDK",
        needs_server: true,
        run: javascript::run,
    },
    Step {
        name: "go",
        title: "Go SDK",
        needs_server: true,
        run: go::run,
    },
    Step {
        name: "java",
        title: "Java SDK",
        needs_server: true,
        run: java::run,
    },
    Step {
        name: "rust-sdk",
        title: "Rust SDK",
        needs_server: true,
        run: rust_sdk::run,
    },
    Step {
        name: "explorer",
        title: "explorer in Chromium",
        needs_server: true,
        run: explorer::run,
    },
    Step {
        name: "crash",
        title: "crash test",
        needs_server: true,
        run: crash::run,
    },
];

const SERVER: &str = "build";

/// The named steps in the order of the table, plus the server for those that talk to it.
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
    let server = STEPS.iter().any(|step| step.needs_server && named(step))
        && std::env::var_os("ORRERY_BIN").is_none();
    Ok(STEPS
        .iter()
        .filter(|step| named(step) || (server && step.name == SERVER))
        .collect())
}

pub(crate) fn run(chosen: &[&'static Step], workspace: &Workspace) -> Vec<Report> {
    let mut reports = Vec::new();
    let mut server_failed = false;
    for step in chosen {
        summary::heading(step.title);
        let started = Instant::now();
        let outcome = if step.needs_server && server_failed {
            Outcome::Skipped("the server did not build".to_owned())
        } else {
            (step.run)(workspace).unwrap_or_else(|error| Outcome::Broken(format!("{error:#}")))
        };
        server_failed |= step.name == SERVER && outcome.is_failure();
        reports.push(Report {
            title: step.title,
            outcome,
            elapsed: started.elapsed(),
        });
    }
    reports
}

/// The suites of other languages may live elsewhere or not at all in a partial checkout.
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
