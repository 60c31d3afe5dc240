//! `cargo xtask hostile`: attacks a server of this workspace for the given time.
//!
//! The attacks are the crate `hostile`. Its program is built without optimisation, since it waits
//! more than it works; the server under attack is the release build.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

const MINUTES_DEFAULT: u64 = 3;
/// The seconds of each single attack, for every minute of the run.
const ALONE_SECONDS_A_MINUTE: u64 = 2;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let minutes = match arguments {
        [] => MINUTES_DEFAULT,
        [option, minutes] if option == "--minutes" => minutes
            .parse()
            .with_context(|| format!("`{minutes}` is no number of minutes"))?,
        _ => bail!("cargo xtask hostile takes only --minutes N"),
    };
    let workspace = Workspace::find()?;
    // A figure of an outdated or unoptimised server would be worthless.
    let mut build = workspace.cargo(&["build", "--release", "--package", "orrery"]);
    if !build.status().context("starting cargo")?.success() {
        bail!("the server does not build");
    }
    let seconds = (minutes * 60).to_string();
    let alone = (minutes * ALONE_SECONDS_A_MINUTE).to_string();
    let status = program(&workspace)
        .args(["--seconds", &seconds, "--alone-seconds", &alone])
        .status()
        .context("starting cargo")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The attacking program, with the server that the workspace built.
pub(crate) fn program(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo(&["run", "--quiet", "--package", "orrery-hostile", "--"]);
    command.arg("--server").arg(workspace.server_binary());
    command
}
