//! The explorer in a browser. The step rebuilds the bundle and compares it, then opens every screen
//! against the server. Screenshots are below the target directory.

use std::process::Command;

use anyhow::Result;

use super::npm;
use crate::console::Console;
use crate::counts;
use crate::outcome::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, console: &Console) -> Result<Outcome> {
    let suite = workspace.root.join("tests").join("explorer");
    let Some(node) = tools::find(&["node"]) else {
        return Ok(Outcome::Missing("node"));
    };
    let Some(npm) = tools::find(&["npm"]) else {
        return Ok(Outcome::Missing("npm"));
    };
    // The variable takes precedence over installed browsers.
    let chosen = std::env::var_os("CHROMIUM").map(std::path::PathBuf::from);
    let installed = || tools::find(&["chromium", "chromium-browser", "google-chrome"]);
    let Some(chromium) = chosen.or_else(installed) else {
        return Ok(Outcome::Missing("chromium"));
    };
    npm::install(console, &npm, &workspace.root.join("explorer"))?;
    npm::install(console, &npm, &suite)?;
    let mut tests = Command::new(node);
    tests
        .current_dir(&suite)
        // One file at a time, since each file starts a server and a browser of its own.
        .args(["--test", "--test-concurrency=1", "--test-reporter=spec"])
        .env("ORRERY_BIN", workspace.server_binary())
        .env("CARGO_TARGET_DIR", &workspace.target)
        .env("CHROMIUM", chromium);
    console.count(&mut tests, counts::node)
}
