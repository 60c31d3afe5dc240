//! What cargo checks by itself.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// Of each test binary.
const THREADS: &str = "RUST_TEST_THREADS";

pub(super) fn format(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    console.check(&mut workspace.cargo(&["fmt", "--all", "--check"]))
}

pub(super) fn lint(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    console.check(&mut workspace.cargo(&arguments))
}

pub(super) fn test(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let arguments = [
        "test",
        "--workspace",
        "--quiet",
        "--no-fail-fast",
        "--",
        "--skip",
        super::crash::TEST,
    ];
    let mut tests = workspace.cargo(&arguments);
    // Many of them wait for regions, clocks and processes.
    let processors = std::thread::available_parallelism()?.get();
    tests.env(THREADS, (2 * processors).to_string());
    console.count(&mut tests, counts::cargo)
}

pub(super) fn build_server(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    console.check(&mut workspace.cargo(&["build", "--release", "--package", "orrery"]))
}
