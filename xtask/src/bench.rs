//! `cargo xtask bench`: builds the server and the load driver with optimisations, and runs the load
//! driver with the given options.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    let packages = ["--package", "orrery", "--package", "orrery-bench"];
    let mut build = workspace.cargo(&["build", "--quiet", "--release"]);
    if !build
        .args(packages)
        .status()
        .context("starting cargo")?
        .success()
    {
        bail!("the server or the load driver does not build");
    }
    // The paths of options are relative to the directory of the caller, so the load driver runs there.
    let status = std::process::Command::new(workspace.load_driver())
        .args(arguments)
        .status()
        .context("starting the load driver")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
