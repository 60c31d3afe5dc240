//! The JavaScript suite, with the test runner of Node.

use std::path::Path;

use anyhow::Result;

use crate::counts;
use crate::outcome::Outcome;
use crate::process;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Result<Outcome> {
    if let Some(absent) = super::absent(workspace, "js", "package-lock.json") {
        return Ok(absent);
    }
    let Some(node) = tools::find(&["node"]) else {
        return Ok(Outcome::Missing("node"));
    };
    let Some(npm) = tools::find(&["npm"]) else {
        return Ok(Outcome::Missing("npm"));
    };
    if !installed(&workspace.suite("js")) {
        process::prepare(
            workspace
                .in_suite(&npm, "js")
                .args(["ci", "--no-audit", "--no-fund"]),
        )?;
    }
    let mut suite = workspace.in_suite(&node, "js");
    process::count(suite.args(["--test", "--test-reporter=spec"]), counts::node)
}

/// npm writes a copy of the lock file when it is done; an older one is out of date.
fn installed(suite: &Path) -> bool {
    let modified = |path: &str| {
        suite
            .join(path)
            .metadata()
            .and_then(|file| file.modified())
            .ok()
    };
    let done = modified("node_modules/.package-lock.json");
    done.is_some() && done >= modified("package-lock.json")
}
