//! The Go suite; the module cache is the user's own.

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
    // The server is an input that Go's test cache does not see.
    console.count(suite.args(["test", "-v", "-count=1", "./..."]), counts::go)
}
