//! The Java suite, with Maven and its usual repository.

use anyhow::Result;

use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    if let Some(absent) = super::absent(workspace, "java", "pom.xml") {
        return Ok(absent);
    }
    if tools::find(&["java"]).is_none() {
        return Ok(Outcome::Missing("java"));
    }
    let Some(maven) = tools::find(&["mvn"]) else {
        return Ok(Outcome::Missing("mvn"));
    };
    let mut suite = workspace.in_suite(&maven, "java");
    console.count(
        suite.args(["--batch-mode", "--no-transfer-progress", "test"]),
        counts::maven,
    )
}
