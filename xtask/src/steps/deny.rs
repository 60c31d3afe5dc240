//! Checks the dependencies with cargo-deny and the rules of deny.toml.
//!
//! The tool is built once, without optimisation, below the target directory: a minute for two
//! processors. Licences, sources and banned crates need nothing from the network afterwards. Known
//! vulnerabilities are in Rust's database of advisories at github.com; a step that cannot reach the
//! database checks none of them and says so.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::console::Console;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// The rules are written for this version.
const VERSION: &str = "0.20.2";

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

pub(super) fn advisories(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let mut fetch = deny(workspace, console)?;
    if console.prepare(fetch.args(["fetch", "db"])).is_err() {
        return Ok(Outcome::Missing("the database of advisories at github.com"));
    }
    let mut check = deny(workspace, console)?;
    console.check(check.args(["check", "--hide-inclusion-graph", "advisories"]))
}

fn deny(workspace: &Workspace, console: &Console) -> Result<Command> {
    let mut command = Command::new(installed(workspace, console)?);
    command.current_dir(&workspace.root);
    Ok(command)
}

fn installed(workspace: &Workspace, console: &Console) -> Result<PathBuf> {
    let folder = workspace.target.join("tools");
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
