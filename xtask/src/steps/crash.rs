//! The crash test kills a server under load again and again and looks for lost writes.

use anyhow::Result;

use crate::counts;
use crate::outcome::Outcome;
use crate::process;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    let arguments = [
        "test",
        "--package",
        "orrery",
        "--release",
        "--test",
        "crash",
        "--",
        "--nocapture",
    ];
    let mut suite = workspace.cargo(&arguments);
    suite.env("ORRERY_BIN", workspace.server_binary());
    process::count(&mut suite, counts::cargo)
}
