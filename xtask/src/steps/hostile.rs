//! Runs all attacks at once for a few seconds. The step prints the latencies of honest clients and
//! does not fail because of them: other programs on a busy machine slow honest clients down too.

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
