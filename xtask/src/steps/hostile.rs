//! All attacks at once, for a few seconds. How much slower honest clients become is only told: a busy machine
//! would decide it.

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
