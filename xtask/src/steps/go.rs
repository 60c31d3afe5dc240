//! The Go suite, with the module cache of the user.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    if let Some(absent) = super::absent(workspace, "go", "go.mod") {
        return Ok(absent);
    }
    let Some(go) = tools::find(&["go"]) else {
        return Ok(Outcome::Missing("go"));
    };
    let mut suite = workspace.in_suite(&go, "go");
    // Go's test cache does not see the server binary, so cached results would be wrong.
    console.count(suite.args(["test", "-v", "-count=1", "./..."]), counts::go)
}
