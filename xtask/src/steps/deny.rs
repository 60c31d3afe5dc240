//! Checks the dependencies with cargo-deny and the rules of deny.toml.
//!
//! The tool is built once, without optimisation, below the target directory, which takes a minute
//! on two processors. Afterwards licences, sources and banned crates need no network. Known
//! vulnerabilities are in Rust's advisory database at github.com; a step that cannot reach the
//! database checks none of them and reports that.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::console::Console;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// The version for which the rules are written.
const VERSION: &str = "0.20.2";

/// Checks bans, licences and sources, without the network.
pub(super) fn rules(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let mut check = deny(workspace, console)?;
    console.check(check.args([
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]))
}

/// Fetches the advisory database and checks all dependencies against it.
pub(super) fn advisories(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let mut fetch = deny(workspace, console)?;
    if console.prepare(fetch.args(["fetch", "db"])).is_err() {
        return Ok(Outcome::Missing("the database of advisories at github.com"));
    }
    let mut check = deny(workspace, console)?;
    console.check(check.args(["check", "--hide-inclusion-graph", "advisories"]))
}

/// A cargo-deny command in the workspace.
fn deny(workspace: &Workspace, console: &Console) -> Result<Command> {
    let mut command = Command::new(installed(workspace, console)?);
    command.current_dir(&workspace.root);
    Ok(command)
}

/// The path of cargo-deny, which is installed at the first call.
fn installed(workspace: &Workspace, console: &Console) -> Result<PathBuf> {
    let folder = workspace.target.join("tools");
    // The version is part of the path, so that a new version replaces the old one by itself.
    let root = folder.join(format!("cargo-deny-{VERSION}"));
    let program = format!("cargo-deny{}", std::env::consts::EXE_SUFFIX);
    let program = root.join("bin").join(program);
    if !program.exists() {
        let version = format!("={VERSION}");
        let install = ["install", "cargo-deny", "--locked", "--debug", "--quiet"];
        let mut install = workspace.cargo(&install);
        install
            .args(["--version", &version])
            .arg("--root")
            .arg(&root);
        console.prepare(&mut install)?;
    }
    Ok(program)
}
