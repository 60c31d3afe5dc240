//! The Python suite, in a virtual environment of its own below the target directory.

use std::process::Command;

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    if let Some(absent) = super::absent(workspace, "python", "requirements.txt") {
        return Ok(absent);
    }
    let Some(system_python) = tools::find(&["python3", "python"]) else {
        return Ok(Outcome::Missing("python3"));
    };
    let environment = workspace.target.join("sdk-python");
    let python = if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    };
    if !python.exists() {
        console.prepare(
            Command::new(system_python)
                .args(["-m", "venv"])
                .arg(&environment),
        )?;
    }
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    let requirements = workspace.suite("python").join("requirements.txt");
    // pip compares versions itself and returns quickly if all packages are there.
    console.prepare(
        Command::new(&python)
            .args(install)
            .arg("-r")
            .arg(requirements),
    )?;

    let mut suite = workspace.in_suite(&python, "python");
    suite
        .args(["-m", "pytest"])
        // Bytecode files would clutter the folder of the suite.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    console.count(&mut suite, counts::pytest)
}
