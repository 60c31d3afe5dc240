//! Runs all attacks at once for a few seconds. The step prints how much slower honest clients
//! become, and does not fail because of that: other programs on a busy machine slow them down as
//! well.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::hostile;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let mut attacks = hostile::program(workspace);
    attacks.args([
        "--seconds",
        "10",
        "--alone-seconds",
        "0",
        "--without-latency",
    ]);
    console.count(&mut attacks, counts::cargo)
}
