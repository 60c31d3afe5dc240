//! The JavaScript suite, with the test runner of Node.

use anyhow::Result;

use super::npm;
use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    if let Some(absent) = super::absent(workspace, "js", "package-lock.json") {
        return Ok(absent);
    }
    let Some(node) = tools::find(&["node"]) else {
        return Ok(Outcome::Missing("node"));
    };
    // Without npm the packages of the suite cannot be installed.
    let Some(npm) = tools::find(&["npm"]) else {
        return Ok(Outcome::Missing("npm"));
    };
    npm::install(console, &npm, &workspace.suite("js"))?;
    let mut suite = workspace.in_suite(&node, "js");
    console.count(suite.args(["--test", "--test-reporter=spec"]), counts::node)
}
