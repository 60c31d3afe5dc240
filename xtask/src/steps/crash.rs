//! The crash test kills a server under load again and again and looks for lost writes. Only the server is
//! optimised: the test itself was already built for the workspace's tests, whose features it shares.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// A step of its own, which the tests of the workspace leave out.
pub(super) const TEST: &str = "every_acknowledged_write_survives_a_kill";

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let arguments = [
        "test",
        "--workspace",
        "--test",
        "crash",
        "--",
        "--nocapture",
        TEST,
    ];
    let mut suite = workspace.cargo(&arguments);
    suite.env("ORRERY_BIN", workspace.server_binary());
    console.count(&mut suite, counts::cargo)
}
