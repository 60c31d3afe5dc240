//! The crash test kills a server under load again and again, and looks for lost writes. Only the
//! server is optimised: the test binary was already built for the workspace tests, whose features
//! it shares.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// The name of the test. The workspace tests skip this test, because a separate step runs it.
pub(super) const TEST: &str = "every_acknowledged_write_survives_a_kill";

/// Runs the crash test against the release build.
pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let arguments = [
        "test",
        // Without all packages, cargo would choose other features and compile everything again.
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
