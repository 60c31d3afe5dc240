//! What cargo checks by itself.

use anyhow::Result;

use crate::counts;
use crate::outcome::Outcome;
use crate::process;
use crate::workspace::Workspace;

pub(super) fn format(workspace: &Workspace) -> Result<Outcome> {
    process::check(&mut workspace.cargo(&["fmt", "--all", "--check"]))
}

pub(super) fn lint(workspace: &Workspace) -> Result<Outcome> {
    let arguments = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    process::check(&mut workspace.cargo(&arguments))
}

pub(super) fn test(workspace: &Workspace) -> Result<Outcome> {
    process::count(
        &mut workspace.cargo(&["test", "--workspace", "--quiet"]),
        counts::cargo,
    )
}

pub(super) fn build_server(workspace: &Workspace) -> Result<Outcome> {
    process::check(&mut workspace.cargo(&["build", "--release", "--package", "orrery"]))
}
