//! The checks of cargo.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// The number of test threads of each test binary.
const THREADS: &str = "RUST_TEST_THREADS";

/// Checks the formatting of all packages.
pub(super) fn format(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    console.check(&mut workspace.cargo(&["fmt", "--all", "--check"]))
}

/// Runs clippy. Any warning is a failure.
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

/// Runs all tests of the workspace except the crash test.
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
    // Many tests wait for regions, clocks and processes, so more threads than processors are
    // useful.
    let processors = std::thread::available_parallelism()?.get();
    tests.env(THREADS, (2 * processors).to_string());
    console.count(&mut tests, counts::cargo)
}

/// Builds the server that all suites use.
pub(super) fn build_server(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    console.check(&mut workspace.cargo(&["build", "--release", "--package", "orrery"]))
}
